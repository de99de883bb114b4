/* See event_writer.h. */
#include "event_writer.h"

#include "../lib/json_writer.h"

char *event_begin_slow(event_writer *writer, const char *prefix, size_t prefix_length, const name_text *name) {
  if (writer->events++) text_out_literal(writer->out, ",\n");
  text_out_bytes(writer->out, prefix, prefix_length);
  text_out_bytes(writer->out, name->quoted, name->length);
  return text_out_room(writer->out, EVENT_ROOM);
}

void event_flow(event_writer *writer, char phase, const char *kind, uint64_t id, uint32_t pid, uint32_t tid,
                int64_t ts_ns) {
  char *at = text_out_room(writer->out, EVENT_ROOM);
  at = EVENT_PUT(at, ",\n{\"ph\":\"");
  *at++ = phase;
  at = EVENT_PUT(at, "\",\"id\":");
  at = digits_u64(at, id);
  at = event_ids(at, pid, tid);
  at = event_ts(at, ts_ns);
  at = EVENT_PUT(at, ",\"cat\":\"");
  at = event_put_text(at, kind);
  at = EVENT_PUT(at, "\",\"name\":\"");
  at = event_put_text(at, kind);
  if (phase == 'f')
    at = EVENT_PUT(at, "\",\"bp\":\"e\"");
  else
    *at++ = '"';
  writer->events++;
  event_end(writer, at);
}

/* A metadata event with one argument: "process_name" and its like. `value` is JSON text. */
static void event_metadata(event_writer *writer, const char *name, uint32_t pid, uint32_t tid, const char *key,
                           const char *value, size_t value_length) {
  text_out *out = writer->out;
  text_out_text(out, writer->events++ ? ",\n{\"name\":\"" : "{\"name\":\"");
  text_out_text(out, name);
  text_out_literal(out, "\",\"ph\":\"M\"");
  char *at = event_ts(text_out_room(out, EVENT_ROOM), writer->trace->start_ns);
  out->at = event_ids(at, pid, tid);
  text_out_literal(out, ",\"args\":{\"");
  text_out_text(out, key);
  text_out_literal(out, "\":");
  text_out_bytes(out, value, value_length);
  text_out_literal(out, "}}");
}

void event_metadata_text(event_writer *writer, const char *name, uint32_t pid, uint32_t tid, const char *key,
                         const char *text) {
  enum { LONGEST = 1000 }; /* of a process or thread name */
  char quoted[6 * LONGEST + 2];
  size_t length = strlen(text);
  if (length > LONGEST) length = LONGEST;
  event_metadata(writer, name, pid, tid, key, quoted, json_quote(quoted, text, length));
}

void event_metadata_number(event_writer *writer, const char *name, uint32_t pid, uint32_t tid, const char *key,
                           uint64_t value) {
  char text[DIGITS_ROOM];
  event_metadata(writer, name, pid, tid, key, text, (size_t)(digits_u64(text, value) - text));
}

uint64_t event_external_id(const event_writer *writer, uint32_t index) {
  const pd_range *range = PD_AT(pd_range, &writer->trace->ranges, index);
  if (range->kind == PD_RANGE_STEP && range->step != PD_NONE) return writer->trace->ranges.count + range->step + 1;
  return (uint64_t)index + 1;
}

char *event_counter(event_writer *writer, const char *what, uint32_t device) {
  char quoted[64];
  const pd_device_props *props = writer->trace->device;
  char *at = event_put_text(quoted, props && !props->is_cuda ? "\"device " : "\"GPU ");
  at = digits_u64(at, device);
  *at++ = ' ';
  const size_t length = strlen(what);
  memcpy(at, what, length);
  at += length;
  *at++ = '"';
  const name_text name = {quoted, (size_t)(at - quoted)};
  return EVENT_BEGIN(writer, "{\"ph\":\"C\",\"name\":", &name);
}
