// Draws the events that a view shows. Events narrower than a pixel share one, as dark as they are busy together, so that
// the time to draw follows the pixels and not the events.
const RULER = 22, TITLE = 16, ROW = 15, LANE_GAP = 6, LEAST_WIDTH = 2, LABEL_WIDTH = 28, SHADES = 5, ALPHAS = 8;
// By kind of event: hue and saturation; white text on each is readable.
const HUES = [[215, 22], [265, 40], [210, 8], [20, 75], [180, 45], [40, 60], [214, 70], [140, 55], [165, 35], [295, 45],
  [220, 6], [85, 40]];

function colourOf(kind, name) {
  const [hue, saturation] = HUES[kind] ?? [0, 0];
  return `hsl(${hue} ${saturation}% ${28 + 2.5 * (name % SHADES)}%)`;
}

class TimelineView {
  constructor(data, canvas) {
    this.data = data;
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.colours = data.kinds.map((_, kind) => Array.from({ length: SHADES }, (_shade, name) => colourOf(kind, name)));
    this.folded = new Set();
    this.scroll = 0;
    this.from = 0;
    this.to = 1;
    this.selected = this.hovered = -1;
    this.links = [];
    this.range = null;
    this.found = null;
  }

  get scale() {
    return this.width / (this.to - this.from);
  }

  xOf(time) {
    return (time - this.from) * this.scale;
  }

  timeOf(x) {
    return this.from + x / this.scale;
  }

  // Shows [from, to), which is kept near the events.
  show(from, to) {
    const whole = this.data.last;
    const span = Math.min(Math.max(to - from, 20), 1.1 * whole || 20);
    const start = Math.min(Math.max(from, -0.05 * whole), 1.05 * whole - span);
    this.from = start;
    this.to = start + span;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    this.width = Math.max(box.width, 1);
    this.height = Math.max(box.height, 1);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(this.canvas);
    const value = (name) => style.getPropertyValue(name).trim();
    this.ink = value("--ink");
    this.softInk = value("--soft-ink");
    this.paper = value("--card");
    this.soft = value("--soft");
    this.line = value("--line");
    this.mark = value("--mark");
  }

  // Where each row lies, from the top of the first lane: a folded lane shows its first row alone.
  layout() {
    let y = RULER + 4;
    this.placed = [];
    this.titles = [];
    for (const [number, lane] of this.data.lanes.entries()) {
      this.titles.push({ lane: number, y });
      y += TITLE;
      for (const row of this.folded.has(number) ? lane.rows.slice(0, 1) : lane.rows) {
        this.placed.push({ row, y });
        y += ROW;
      }
      y += LANE_GAP;
    }
    this.content = y;
    this.scroll = Math.max(0, Math.min(this.scroll, this.content - this.height));
  }

  draw() {
    const context = this.context;
    this.layout();
    context.fillStyle = this.paper;
    context.fillRect(0, 0, this.width, this.height);
    this.drawSteps();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const { row, y } of this.placed) {
      const top = y - this.scroll;
      if (top > RULER - ROW && top < this.height) this.drawRow(row, top);
    }
    context.globalAlpha = 1;
    this.drawTitles();
    this.drawLinks();
    this.drawOutline(this.hovered, this.ink, 1);
    this.drawOutline(this.selected, this.mark, 2);
    this.drawRange();
    this.drawRuler();
  }

  drawRow(row, top) {
    const { data, from, to, scale } = this, { start, end, busy } = data;
    const pixel = 1 / scale;
    let i = data.firstEndingAfter(from, row.first, row.end);
    let strip = null; // narrow events next to each other that look alike
    while (i < row.end && start[i] < to) {
      const x = (start[i] - from) * scale, width = (end[i] - start[i]) * scale;
      if (width >= LEAST_WIDTH) {
        strip = this.endStrip(strip, top);
        this.drawEvent(i, x, width, top);
        i++;
        continue;
      }
      const column = Math.floor(x);
      let next = data.firstFrom(from + (column + 1) * pixel, i, row.end);
      if (next - 1 > i && (end[next - 1] - start[next - 1]) * scale >= LEAST_WIDTH) next--;
      const share = Math.min(1, (busy[next] - busy[i]) * scale);
      const alpha = Math.max(2, Math.ceil(share * ALPHAS)) / ALPHAS;
      const isFound = !this.found || this.found.before[next] > this.found.before[i];
      const colour = this.colours[data.kind[i]][data.name[i] % SHADES];
      if (strip && strip.colour === colour && strip.alpha === alpha && strip.isFound === isFound && strip.end === column) {
        strip.end = column + 1;
      } else {
        this.endStrip(strip, top);
        strip = { x: column, end: column + 1, colour, alpha, isFound };
      }
      i = next;
    }
    this.endStrip(strip, top);
  }

  endStrip(strip, top) {
    if (!strip) return null;
    this.context.globalAlpha = strip.alpha * (strip.isFound ? 1 : 0.15);
    this.context.fillStyle = strip.colour;
    this.context.fillRect(strip.x, top, strip.end - strip.x, ROW - 1);
    return null;
  }

  drawEvent(i, x, width, top) {
    const { context, data } = this;
    const left = Math.max(x, -1), right = Math.min(x + width, this.width + 1);
    const isFound = !this.found || this.found.before[i + 1] > this.found.before[i];
    context.globalAlpha = isFound ? 1 : 0.15;
    context.fillStyle = this.colours[data.kind[i]][data.name[i] % SHADES];
    context.fillRect(left, top, Math.max(right - left - 0.5, 1), ROW - 1);
    if (right - left < LABEL_WIDTH) return;
    const room = Math.floor((right - left - 6) / 5.6);
    const text = data.texts[data.name[i]];
    context.fillStyle = "#fff";
    context.fillText(text.length > room ? `${text.slice(0, Math.max(room - 1, 1))}\u2026` : text, Math.max(left, 0) + 3,
      top + ROW / 2);
  }

  drawTitles() {
    const { context } = this;
    context.textBaseline = "middle";
    context.font = "600 11px system-ui, sans-serif";
    for (const { lane, y } of this.titles) {
      const top = y - this.scroll;
      if (top < RULER - TITLE || top > this.height) continue;
      const text = `${this.folded.has(lane) ? "\u25B8" : "\u25BE"} ${this.data.lanes[lane].title}`;
      context.fillStyle = this.line;
      context.fillRect(0, top - LANE_GAP / 2, this.width, 1);
      context.fillStyle = this.softInk;
      context.fillText(text, 4, top + TITLE / 2);
    }
  }

  // Every other step has a band behind it.
  drawSteps() {
    for (const [i, step] of this.data.steps.entries()) {
      const x = this.xOf(step.start), end = this.xOf(step.end);
      if (end < 0 || x > this.width || i % 2) continue;
      this.context.fillStyle = this.soft;
      this.context.fillRect(x, RULER, Math.max(end - x, 1), this.height);
    }
  }

  drawRuler() {
    const { context } = this;
    const span = this.to - this.from, rough = (span / this.width) * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const tick = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    context.fillStyle = this.paper;
    context.fillRect(0, 0, this.width, RULER);
    context.fillStyle = this.line;
    context.fillRect(0, RULER - 1, this.width, 1);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const step of this.data.steps) {
      const x = this.xOf(step.start), end = this.xOf(step.end);
      if (Math.min(end, this.width) - Math.max(x, 0) < 48) continue;
      context.fillStyle = this.mark;
      context.fillRect(x, 0, 1, RULER / 2);
      context.fillText(`step ${step.number}`, Math.max(x, 0) + 4, 6);
    }
    context.fillStyle = this.softInk;
    const zero = this.data.zero;
    for (let time = Math.ceil((this.from - zero) / tick) * tick + zero; time < this.to; time += tick) {
      const x = this.xOf(time);
      context.fillRect(x, RULER - 6, 1, 5);
      context.fillText(timeText(Math.round(time - zero)), x + 3, RULER - 6);
    }
  }

  placeOf(event) {
    const row = this.data.rowOf(event);
    return this.placed.find((one) => one.row === row);
  }

  drawOutline(event, colour, width) {
    const place = event < 0 ? null : this.placeOf(event);
    if (!place) return;
    const x = this.xOf(this.data.start[event]), right = this.xOf(this.data.end[event]);
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.strokeRect(x, place.y - this.scroll, Math.max(right - x, 1), ROW - 1);
  }

  // From a launch to its work on the device.
  drawLinks() {
    const { context, data } = this;
    for (const other of this.links) {
      const isCall = data.kind[this.selected] === KIND_CALL;
      const [call, work] = isCall ? [this.selected, other] : [other, this.selected];
      const from = this.placeOf(call), to = this.placeOf(work);
      if (!from || !to) continue;
      const x0 = this.xOf(data.end[call]), y0 = from.y - this.scroll + ROW / 2;
      const x1 = this.xOf(data.start[work]), y1 = to.y - this.scroll + ROW / 2;
      const bend = Math.max(20, Math.abs(x1 - x0) / 2);
      context.strokeStyle = this.mark;
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      context.stroke();
      this.drawOutline(other, this.mark, 1.5);
    }
  }

  drawRange() {
    if (!this.range) return;
    const x = this.xOf(Math.min(...this.range)), right = this.xOf(Math.max(...this.range));
    this.context.globalAlpha = 0.6;
    this.context.fillStyle = this.paper;
    if (x > 0) this.context.fillRect(0, RULER, x, this.height);
    if (right < this.width) this.context.fillRect(right, RULER, this.width - right, this.height);
    this.context.globalAlpha = 1;
    this.context.fillStyle = this.mark;
    this.context.fillRect(x, RULER, 1, this.height);
    this.context.fillRect(right, RULER, 1, this.height);
  }

  // What lies at a place of the canvas: an event, the title of a lane, the ruler, or nothing.
  at(x, y) {
    if (y < RULER) return { ruler: true };
    const inside = y + this.scroll;
    const title = this.titles.find((one) => inside >= one.y && inside < one.y + TITLE);
    if (title) return { lane: title.lane };
    const place = this.placed.find((one) => inside >= one.y && inside < one.y + ROW);
    const event = place ? this.data.eventAt(place.row, this.timeOf(x), 2 / this.scale) : -1;
    return event < 0 ? {} : { event };
  }

  // Scrolls so that the event's row and time are seen.
  reveal(event) {
    const { start, end } = this.data;
    this.folded.delete(this.data.rowOf(event).lane);
    this.layout();
    const place = this.placeOf(event);
    if (place.y - this.scroll < RULER) this.scroll = Math.max(0, place.y - RULER - TITLE);
    if (place.y - this.scroll > this.height - 2 * ROW) this.scroll = place.y - this.height + 3 * ROW;
    const length = end[event] - start[event], span = this.to - this.from;
    if (start[event] >= this.from && end[event] <= this.to && length * this.scale >= LEAST_WIDTH) return;
    const wanted = Math.min(Math.max(length * 4, Math.min(span, length * 60)), this.data.last);
    this.show((start[event] + end[event] - wanted) / 2, (start[event] + end[event] + wanted) / 2);
  }
}
