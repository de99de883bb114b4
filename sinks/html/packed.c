/* See packed.h. */
#include "packed.h"

#include "../lib/json_writer.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 6, PADDING = 64, VARINT_MOST = 10 };
enum { START, DURATION, NAME, DETAILS, KIND, CALL, COLUMNS };

/* Bytes that grow. A failure sticks. */
typedef struct bytes {
  unsigned char *data;
  uint64_t count, room;
  bool failed;
} bytes;

static void put(bytes *to, const void *data, uint64_t count) {
  if (to->failed || !PD_ARRAY_FIT(to->data, to->room, to->count + count)) {
    to->failed = true;
    return;
  }
  memcpy(to->data + to->count, data, count);
  to->count += count;
}

static void put_varint(bytes *to, uint64_t value) {
  unsigned char text[VARINT_MOST];
  uint32_t used = 0;
  for (; value >= 0x80; value >>= 7) text[used++] = (unsigned char)(value | 0x80);
  text[used++] = (unsigned char)value;
  put(to, text, used);
}

static uint64_t zigzag(int64_t value) { return value < 0 ? 2 * (uint64_t)(-(value + 1)) + 1 : 2 * (uint64_t)value; }

static pd_status put_text(void *to, const void *data, uint64_t count) {
  put(to, data, count);
  return ((bytes *)to)->failed ? PD_NO_MEMORY : PD_OK;
}

static bool same_row(const track_event *a, const track_event *b) { return a->lane == b->lane && a->row == b->row; }

static void put_columns(const tracks *from, int64_t base_ns, bytes *columns) {
  int64_t last_call = 0;
  for (uint64_t i = 0; i < from->count; i++) {
    const track_event *at = &from->events[i];
    const int64_t before = i && same_row(at, at - 1) ? at[-1].start_ns : base_ns;
    const unsigned char kind = (unsigned char)at->kind;
    put_varint(&columns[START], (uint64_t)(at->start_ns - before));
    put_varint(&columns[DURATION], (uint64_t)(at->end_ns - at->start_ns));
    put_varint(&columns[NAME], at->name);
    put_varint(&columns[DETAILS], at->details);
    put(&columns[KIND], &kind, 1);
    if (at->kind != TRACK_CALL && at->kind != TRACK_KERNEL && at->kind != TRACK_COPY && at->kind != TRACK_SET) continue;
    const int64_t call = at->call == PD_NONE ? 0 : (int64_t)at->call + 1;
    put_varint(&columns[CALL], zigzag(call - last_call));
    last_call = call;
  }
}

/* ---- the head ---- */

static void number(json_writer *json, const char *key, int64_t value) {
  json_key(json, key);
  json_i64(json, value);
}

static void put_lane(json_writer *json, const pd_trace *trace, uint32_t lane) {
  const uint32_t threads = (uint32_t)trace->threads.count;
  json_begin_object(json);
  json_key(json, "name");
  if (lane < threads) {
    const pd_thread *thread = PD_AT(pd_thread, &trace->threads, lane);
    json_string(json, pd_trace_string(trace, thread->name)->text);
    number(json, "thread", thread->tid);
  } else if (lane >= threads + trace->streams.count) {
    const pd_thread *thread = PD_AT(pd_thread, &trace->threads, lane - threads - (uint32_t)trace->streams.count);
    json_string(json, pd_trace_string(trace, thread->name)->text);
    number(json, "thread", thread->tid);
    json_key(json, "states");
    json_bool(json, true);
  } else {
    const pd_stream_row *stream = PD_AT(pd_stream_row, &trace->streams, lane - threads);
    json_string(json, pd_trace_string(trace, stream->name)->text);
    number(json, "device", stream->device);
  }
  json_key(json, "rows");
  json_begin_array(json);
}

/* Lanes that have events, each with the number of events of its rows. */
static void put_lanes(json_writer *json, const pd_trace *trace, const tracks *from) {
  uint64_t first = 0;
  json_key(json, "lanes");
  json_begin_array(json);
  for (uint64_t i = 0; i < from->count; i++) {
    const track_event *at = &from->events[i];
    if (!i || at->lane != at[-1].lane) put_lane(json, trace, at->lane);
    if (!i || !same_row(at, at - 1)) first = i;
    const bool ends_row = i + 1 == from->count || !same_row(at, at + 1);
    if (ends_row) json_u64(json, i + 1 - first);
    if (!ends_row || (i + 1 < from->count && at->lane == at[1].lane)) continue;
    json_end_array(json);
    json_end_object(json);
  }
  json_end_array(json);
}

static void put_steps(json_writer *json, const pd_trace *trace, int64_t base_ns, int64_t until_ns) {
  json_key(json, "steps");
  json_begin_array(json);
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    if (step->end_ns > until_ns) break;
    json_begin_array(json);
    json_u64(json, step->number);
    json_i64(json, step->start_ns - base_ns);
    json_i64(json, step->end_ns - base_ns);
    json_end_array(json);
  }
  json_end_array(json);
}

static bool put_head(const pd_trace *trace, const tracks *from, int64_t base_ns, int64_t until_ns, const bytes *columns,
                     bytes *to) {
  static const char *const kinds[] = {
#define X(name, text) text,
      TRACK_KINDS(X)
#undef X
  };
  text_out out;
  json_writer json;
  if (text_out_open(&out, put_text, to) != PD_OK) {
    text_out_close(&out);
    return false;
  }
  json_open(&json, &out, 0);
  json_begin_object(&json);
  number(&json, "count", (int64_t)from->count);
  number(&json, "zero", trace->start_ns - base_ns);
  put_lanes(&json, trace, from);
  put_steps(&json, trace, base_ns, until_ns);
  json_key(&json, "kinds");
  json_begin_array(&json);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) json_string(&json, kinds[i]);
  json_end_array(&json);
  json_key(&json, "columns");
  json_begin_array(&json);
  for (uint32_t i = 0; i < COLUMNS; i++) json_u64(&json, columns[i].count);
  json_end_array(&json);
  json_key(&json, "texts");
  json_begin_array(&json);
  for (uint32_t i = 0; i < from->texts.count; i++) json_string(&json, text_pool_text(&from->texts, i));
  json_end_array(&json);
  json_end_object(&json);
  const pd_status status = text_out_flush(&out);
  text_out_close(&out);
  return status == PD_OK;
}

/* ---- the whole ---- */

static int64_t base_of(const pd_trace *trace, const tracks *from) {
  int64_t base_ns = trace->start_ns;
  for (uint64_t i = 0; i < from->count; i++)
    if (from->events[i].start_ns < base_ns) base_ns = from->events[i].start_ns;
  return base_ns;
}

static bool deflated(const bytes *from, packed *out) {
  uLongf room = compressBound((uLong)from->count);
  out->data = malloc(room);
  if (!out->data || compress2(out->data, &room, from->data, (uLong)from->count, LEVEL) != Z_OK) return false;
  out->bytes = room;
  return true;
}

bool packed_make(const pd_trace *trace, const tracks *from, int64_t until_ns, packed *out) {
  const int64_t base_ns = base_of(trace, from);
  bytes columns[COLUMNS] = {{.data = NULL}}, head = {.data = NULL}, all = {.data = NULL};
  *out = (packed){.data = NULL};
  put_columns(from, base_ns, columns);
  bool ok = put_head(trace, from, base_ns, until_ns, columns, &head);
  const unsigned char length[4] = {(unsigned char)head.count, (unsigned char)(head.count >> 8),
                                   (unsigned char)(head.count >> 16), (unsigned char)(head.count >> 24)};
  put(&all, length, sizeof length);
  put(&all, head.data, head.count);
  for (uint32_t i = 0; i < COLUMNS; i++) {
    if (columns[i].count) put(&all, columns[i].data, columns[i].count);
    ok = ok && !columns[i].failed;
    free(columns[i].data);
  }
  ok = ok && !head.failed && !all.failed && deflated(&all, out);
  free(head.data);
  free(all.data);
  if (!ok) packed_free(out);
  return ok;
}

void packed_write(text_out *page, const packed *self) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  for (uint64_t i = 0; i < self->bytes; i += 3) {
    const uint64_t left = self->bytes - i;
    const uint32_t group = (uint32_t)self->data[i] << 16 | (left > 1 ? (uint32_t)self->data[i + 1] << 8 : 0) |
                           (left > 2 ? self->data[i + 2] : 0);
    char *at = text_out_room(page, 4);
    *at++ = digits[group >> 18];
    *at++ = digits[group >> 12 & 63];
    *at++ = digits[left > 1 ? group >> 6 & 63 : PADDING];
    *at++ = digits[left > 2 ? group & 63 : PADDING];
    page->at = at;
  }
}

void packed_free(packed *self) {
  free(self->data);
  *self = (packed){.data = NULL};
}
