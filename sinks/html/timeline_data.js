// The timeline's events, as sinks/html/packed.h lays them out. Rows hold events that do not overlap, sorted by time.
// In the order of a window's kinds: a call, and from KIND_CALL to KIND_SET what has a launch.
const KIND_CALL = 5, KIND_SET = 8;

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads LEB128 integers from `at` on.
class Column {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let scale = 128; ; scale *= 128) {
      byte = bytes[this.at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  nextSigned() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

function laneTitle(lane) {
  if (lane.thread === undefined) return `${lane.name}, device ${lane.device}`;
  if (lane.states) return `what ${laneTitle({ ...lane, states: false })} was at`;
  if (!lane.name) return `thread ${lane.thread}`;
  return lane.name.includes(String(lane.thread)) ? lane.name : `${lane.name} (${lane.thread})`;
}

class TimelineData {
  static async open(base64) {
    return new TimelineData(await inflated(bytesOfBase64(base64)));
  }

  constructor(bytes) {
    const headBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headBytes)));
    this.count = head.count;
    this.texts = head.texts;
    this.kinds = head.kinds;
    this.steps = head.steps.map(([number, start, end]) => ({ number, start, end }));
    this.zero = head.zero; // where the window begins: times are counted from there
    let at = 4 + headBytes;
    const columns = head.columns.map((length) => {
      const column = new Column(bytes, at);
      at += length;
      return column;
    });
    this.readRows(head.lanes);
    this.readColumns(...columns);
  }

  // Lanes with their rows, each from `first` up to `end`.
  readRows(lanes) {
    let first = 0;
    this.rows = [];
    this.lanes = lanes.map((lane, number) => {
      const rows = lane.rows.map((count) => {
        const row = { lane: number, first, end: first + count };
        first += count;
        this.rows.push(row);
        return row;
      });
      return { title: laneTitle(lane), isDevice: lane.thread === undefined, rows };
    });
  }

  readColumns(starts, durations, names, details, kinds, calls) {
    const count = this.count;
    this.start = new Float64Array(count);
    this.end = new Float64Array(count);
    this.busy = new Float64Array(count + 1); // sum of the durations of the events before
    this.name = new Uint32Array(count);
    this.details = new Uint32Array(count);
    this.kind = kinds.bytes.subarray(kinds.at, kinds.at + count);
    this.call = new Float64Array(count); // number of the call + 1; 0: none
    this.last = 0;
    let lastCall = 0;
    for (const row of this.rows) {
      let time = 0;
      for (let i = row.first; i < row.end; i++) {
        time += starts.next();
        const duration = durations.next();
        this.start[i] = time;
        this.end[i] = time + duration;
        this.busy[i + 1] = this.busy[i] + duration;
        this.name[i] = names.next();
        this.details[i] = details.next();
        if (time + duration > this.last) this.last = time + duration;
        const kind = this.kind[i];
        if (kind >= KIND_CALL && kind <= KIND_SET) {
          lastCall += calls.nextSigned();
          this.call[i] = lastCall;
        }
      }
    }
  }

  rowOf(event) {
    let low = 0, high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].end <= event) low = middle + 1;
      else high = middle;
    }
    return this.rows[low];
  }

  // The first event of [from, to) that ends after `time`; `to` where none does.
  firstEndingAfter(time, from, to) {
    let low = from, high = to;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The first event of [from, to) that begins at `time` or later, near `from`.
  firstFrom(time, from, to) {
    let span = 1;
    while (from + span < to && this.start[from + span] < time) span *= 2;
    let low = from + (span >> 1), high = Math.min(from + span, to);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The event of `row` that runs at `time`, or begins within `slack` of it; -1: none.
  eventAt(row, time, slack) {
    const found = this.firstEndingAfter(time - slack, row.first, row.end);
    return found < row.end && this.start[found] <= time + slack ? found : -1;
  }

  // The call of a device record, or the device records of a call.
  linked(event) {
    const call = this.call[event];
    const found = [];
    if (!call) return found;
    const isCall = this.kind[event] === KIND_CALL;
    for (let i = 0; i < this.count; i++)
      if (this.call[i] === call && i !== event && (this.kind[i] === KIND_CALL) !== isCall) found.push(i);
    return found;
  }

  // The event that holds this one, or one that it holds; -1: none.
  outer(event) {
    const row = this.rowOf(event), at = this.rows.indexOf(row);
    if (!at || this.rows[at - 1].lane !== row.lane) return -1;
    return this.eventAt(this.rows[at - 1], this.start[event], 0);
  }

  inner(event) {
    const row = this.rowOf(event), below = this.rows[this.rows.indexOf(row) + 1];
    if (!below || below.lane !== row.lane) return -1;
    const found = this.firstFrom(this.start[event], below.first, below.end);
    return found < below.end && this.start[found] < this.end[event] ? found : -1;
  }

  // How many events of [0, i) have a text that holds `words`, and how long they take together.
  search(words) {
    const wanted = words.toLowerCase();
    const isWanted = Uint8Array.from(this.texts, (text) => (text.toLowerCase().includes(wanted) ? 1 : 0));
    const before = new Uint32Array(this.count + 1);
    let total = 0;
    for (let i = 0; i < this.count; i++) {
      const is = isWanted[this.name[i]];
      before[i + 1] = before[i] + is;
      if (is) total += this.end[i] - this.start[i];
    }
    return { before, count: before[this.count], total };
  }

  // The events that lie in [from, to): by lane and name, how many and for how long within it, the longest first.
  sums(from, to) {
    const found = new Map();
    for (const row of this.rows) {
      const names = this.texts.length;
      for (let i = this.firstEndingAfter(from, row.first, row.end); i < row.end && this.start[i] < to; i++) {
        const key = row.lane * names + this.name[i];
        const sum = found.get(key) ?? { lane: row.lane, name: this.name[i], count: 0, time: 0 };
        sum.count++;
        sum.time += Math.min(this.end[i], to) - Math.max(this.start[i], from);
        found.set(key, sum);
      }
    }
    return Array.from(found.values()).sort((a, b) => b.time - a.time);
  }
}

// "15.7 ms": three digits, as the tables have them.
function timeText(ns) {
  const size = Math.abs(ns);
  const [unit, name] = size < 999.5 ? [1, "ns"] : size < 999.5e3 ? [1e3, "us"] : size < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
  const value = ns / unit;
  const decimals = unit === 1 ? 0 : Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0;
  return `${value.toFixed(decimals)} ${name}`;
}
