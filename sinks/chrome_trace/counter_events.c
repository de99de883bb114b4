/*
 * Counter tracks: memory allocated and reserved, the ledger, device busy, queue depth (work launched that has not
 * begun), and the counters that were recorded (DataLoader queue). Perfetto and chrome://tracing draw them; the
 * analysers skip them. [loop thread]
 */
#include "event_writer.h"

#include <stdlib.h>

typedef struct change {
  int64_t ts_ns;
  int32_t queue, busy;
} change;

static int by_time(const void *a, const void *b) {
  const change *x = a, *y = b;
  return (x->ts_ns > y->ts_ns) - (x->ts_ns < y->ts_ns);
}

static void write_value(event_writer *writer, const char *what, uint32_t device, int64_t ts_ns, int64_t value) {
  char *at = event_counter(writer, what, device);
  at = event_ids(at, device, 0);
  at = event_ts(at, ts_ns);
  at = EVENT_PUT(at, ",\"args\":{\"value\":");
  at = digits_i64(at, value);
  *at++ = '}';
  event_end(writer, at);
}

static void write_recorded(event_writer *writer) {
  for (uint64_t i = 0; i < writer->trace->counters.count; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &writer->trace->counters, i);
    if (!event_in_part(writer, row->ts_ns)) continue;
    char *at = EVENT_BEGIN(writer, "{\"ph\":\"C\",\"name\":", names_at(writer->names, row->name));
    at = event_host_ids(writer, at, event_tid(writer, 0));
    at = event_ts(at, row->ts_ns);
    at = EVENT_PUT(at, ",\"args\":{\"value\":");
    at = digits_double(at, row->value);
    *at++ = '}';
    event_end(writer, at);
  }
}

/* Changes of one device, in order of time; those of one moment are one sample. */
static void write_changes(event_writer *writer, uint32_t device, const change *changes, uint64_t count) {
  int64_t queue = 0, busy = 0, shown_queue = -1, shown_busy = -1;
  for (uint64_t i = 0; i < count; i++) {
    queue += changes[i].queue;
    busy += changes[i].busy;
    if (i + 1 < count && changes[i + 1].ts_ns == changes[i].ts_ns) continue;
    if (!event_in_part(writer, changes[i].ts_ns)) continue;
    if (queue != shown_queue) write_value(writer, "queue depth", device, changes[i].ts_ns, queue);
    if ((busy > 0) != shown_busy) write_value(writer, "busy", device, changes[i].ts_ns, busy > 0);
    shown_queue = queue;
    shown_busy = busy > 0;
  }
}

static pd_status write_device(event_writer *writer, uint32_t device) {
  const pd_trace *trace = writer->trace;
  uint64_t count = 0;
  change *changes = malloc((trace->activities.count * 3 + 1) * sizeof *changes);
  if (!changes) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.device != device) continue;
    if (row->call != PD_NONE) {
      const int64_t launch_ns = PD_AT(pd_call, &trace->calls, row->call)->start_ns;
      changes[count++] = (change){launch_ns < row->start_ns ? launch_ns : row->start_ns, 1, 0};
      changes[count++] = (change){row->start_ns, -1, 1};
    } else {
      changes[count++] = (change){row->start_ns, 0, 1};
    }
    changes[count++] = (change){row->end_ns, 0, -1};
  }
  qsort(changes, count, sizeof *changes, by_time);
  write_changes(writer, device, changes, count);
  free(changes);
  return PD_OK;
}

pd_status counter_events_write(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  memory_counters_write(writer);
  const pd_status written = ledger_events_write(writer);
  if (written != PD_OK) return written;
  write_recorded(writer);
  for (uint64_t s = 0; s < trace->streams.count; s++) {
    const uint32_t device = PD_AT(pd_stream_row, &trace->streams, s)->device;
    bool done = false;
    for (uint64_t k = 0; k < s && !done; k++) done = PD_AT(pd_stream_row, &trace->streams, k)->device == device;
    if (done) continue;
    const pd_status status = write_device(writer, device);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}
