// perfetto_query.js UI_FOLDER TRACE: loads TRACE into the WebAssembly engine of a Perfetto UI and answers the queries on
// standard input (a JSON list of SQL texts) with a JSON list of {columns, rows} or {error}.
//
// The engine is made for a worker of a browser and speaks TraceProcessorRpc (protos/perfetto/trace_processor) over a
// message port: both are given to it here.
'use strict';
const fs = require('fs');
const path = require('path');

const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorMethod
const CHUNK = 16 << 20;

// ---- protobuf, as far as it is needed ----

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest);
  return Buffer.from(bytes);
}
const field = (number, value) => Buffer.concat([varint(number << 3), varint(value)]);
const block = (number, bytes) => Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);

function readVarint(bytes, at) {
  let value = 0n, shift = 0n, byte;
  do {
    byte = bytes[at++];
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
  } while (byte & 128);
  return [value, at];
}

// {field number: [values]}; blocks are buffers, numbers BigInt.
function decode(bytes) {
  const found = {};
  let at = 0;
  while (at < bytes.length) {
    let key, value, length;
    [key, at] = readVarint(bytes, at);
    switch (Number(key & 7n)) {
    case 0: [value, at] = readVarint(bytes, at); break;
    case 1: value = bytes.subarray(at, at += 8); break;
    case 5: value = bytes.subarray(at, at += 4); break;
    default:
      [length, at] = readVarint(bytes, at);
      value = bytes.subarray(at, at += Number(length));
    }
    (found[Number(key >> 3n)] ||= []).push(value);
  }
  return found;
}

// Cells of a QueryResult: a stream of types beside one stream per type.
function readBatch(batch, columns, rows) {
  const message = decode(batch);
  const types = message[1] ? message[1][0] : Buffer.alloc(0);
  const numbers = message[2] ? message[2][0] : Buffer.alloc(0);
  const doubles = message[3] ? message[3][0] : Buffer.alloc(0);
  const texts = (message[5] ? message[5][0] : Buffer.alloc(0)).toString('utf8').split('\0');
  let number = 0, double = 0, text = 0, cells = [];
  for (const type of types) {
    let value = null;
    if (type === 2) {
      [value, number] = readVarint(numbers, number);
      value = Number(BigInt.asIntN(64, value));
    } else if (type === 3) {
      value = doubles.readDoubleLE(double);
      double += 8;
    } else if (type === 4) {
      value = texts[text++];
    }
    cells.push(value);
    if (cells.length === columns.length) {
      rows.push(cells);
      cells = [];
    }
  }
}

// ---- the engine ----

class Engine {
  constructor(folder) {
    this.sequence = 0;
    this.waiting = [];
    this.received = Buffer.alloc(0);
    class FileRequest {
      open(method, address) { this.address = address; }
      send() { this.response = new Uint8Array(fs.readFileSync(path.join(folder, path.basename(this.address)))).buffer; }
    }
    const worker = {location: {href: 'http://localhost/engine_bundle.js'}};
    const code = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
    const quiet = {log() {}, warn: console.error, error: console.error};
    new Function('self', 'process', 'WorkerGlobalScope', 'XMLHttpRequest', 'console', code)(
        worker, undefined, {}, FileRequest, quiet);
    this.port = {postMessage: (bytes) => this.receive(Buffer.from(bytes))};
    worker.onmessage({data: this.port});
  }

  receive(bytes) {
    this.received = Buffer.concat([this.received, bytes]);
    while (this.received.length) {
      let [, at] = readVarint(this.received, 0);
      let length;
      [length, at] = readVarint(this.received, at);
      if (this.received.length < at + Number(length)) return;
      const message = decode(this.received.subarray(at, at + Number(length)));
      this.received = this.received.subarray(at + Number(length));
      this.waiting[0](message);
    }
  }

  // `done(message)` says whether the answer is complete.
  request(method, argument, done) {
    const message = Buffer.concat([field(1, this.sequence++), field(2, method), argument]);
    return new Promise((resolve, reject) => {
      this.waiting.push((answer) => {
        if (answer[5]) reject(new Error(answer[5][0].toString())); // fatal_error
        if (!done(answer)) return;
        this.waiting.shift();
        resolve();
      });
      this.port.onmessage({data: new Uint8Array(block(1, message))});
    });
  }

  async load(file) {
    const data = fs.readFileSync(file);
    for (let at = 0; at < data.length; at += CHUNK) {
      await this.request(APPEND, block(101, data.subarray(at, at + CHUNK)), (answer) => {
        const result = answer[201] ? decode(answer[201][0]) : {};
        if (result[2]) throw new Error(result[2][0].toString());
        return true;
      });
    }
    await this.request(FINALIZE, Buffer.alloc(0), () => true);
  }

  async query(sql) {
    const result = {columns: [], rows: []};
    await this.request(QUERY, block(103, block(1, Buffer.from(sql))), (answer) => {
      const message = answer[203] ? decode(answer[203][0]) : {};
      for (const name of message[1] || []) result.columns.push(name.toString());
      if (message[2] && message[2][0].length) result.error = message[2][0].toString();
      let last = Boolean(result.error);
      for (const batch of message[3] || []) {
        readBatch(batch, result.columns, result.rows);
        const end = decode(batch)[6];
        last = last || Boolean(end && end[0]);
      }
      return last;
    });
    return result;
  }
}

async function main() {
  const [folder, trace] = process.argv.slice(2);
  const queries = JSON.parse(fs.readFileSync(0, 'utf8'));
  const engine = new Engine(folder);
  await new Promise((resolve) => setImmediate(resolve)); // the engine finishes its start in a microtask
  await engine.load(trace);
  const answers = [];
  for (const sql of queries) answers.push(await engine.query(sql));
  process.stdout.write(JSON.stringify(answers));
}

main().catch((error) => {
  process.stderr.write(`perfetto_query: ${error.stack}\n`);
  process.exitCode = 1;
});
