/*
 * Counter tracks: memory allocated and reserved, the ledger, device busy, queue depth (work launched that has not
 * begun), and the counters that were recorded (DataLoader queue). Perfetto and chrome://tracing draw them; the
 * analysers skip them. [loop thread]
 */
#include "event_writer.h"

#include <math.h>
#include <stdlib.h>

/* Times at which something of a device's begins or ends, and how many of them are written already. */
typedef struct moments {
  int64_t *ns;
  uint64_t count, told;
} moments;

static int by_time(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* They nearly always come in order: the rows of a device are sorted by start, and so are the calls. */
static void put_in_order(moments *self) {
  for (uint64_t i = 1; i < self->count; i++)
    if (self->ns[i] < self->ns[i - 1]) {
      qsort(self->ns, self->count, sizeof *self->ns, by_time);
      return;
    }
}

static int64_t next_ns(const moments *self) { return self->told < self->count ? self->ns[self->told] : INT64_MAX; }

/* How many lie at `ts_ns`, which is the next time; they are written then. */
static int64_t take(moments *self, int64_t ts_ns) {
  const uint64_t before = self->told;
  while (next_ns(self) == ts_ns && self->told < self->count) self->told++;
  return (int64_t)(self->told - before);
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
    /* JSON has no such number, and readers no use for its absence. */
    if (!event_in_part(writer, row->ts_ns) || !isfinite(row->value)) continue;
    char *at = EVENT_BEGIN(writer, "{\"ph\":\"C\",\"name\":", names_plain(writer->names, row->name));
    at = event_host_ids(writer, at, event_tid(writer, 0));
    at = event_ts(at, row->ts_ns);
    at = EVENT_PUT(at, ",\"args\":{\"value\":");
    at = digits_double(at, row->value);
    *at++ = '}';
    event_end(writer, at);
  }
}

static int64_t earliest(int64_t a, int64_t b) { return a < b ? a : b; }

/* Queue depth and busy in order of time; what changes at one moment is one sample. */
static void write_changes(event_writer *writer, uint32_t device, moments *launches, moments *begins, moments *starts,
                          moments *ends) {
  int64_t queue = 0, running = 0, shown_queue = -1, shown_busy = -1;
  for (;;) {
    const int64_t ts_ns =
        earliest(earliest(next_ns(launches), next_ns(begins)), earliest(next_ns(starts), next_ns(ends)));
    if (ts_ns == INT64_MAX) break;
    queue += take(launches, ts_ns) - take(begins, ts_ns);
    running += take(starts, ts_ns) - take(ends, ts_ns);
    if (!event_in_part(writer, ts_ns)) continue;
    if (queue != shown_queue) write_value(writer, "queue depth", device, ts_ns, queue);
    if ((running > 0) != shown_busy) write_value(writer, "busy", device, ts_ns, running > 0);
    shown_queue = queue;
    shown_busy = running > 0;
  }
}

static pd_status write_device(event_writer *writer, uint32_t device) {
  const pd_trace *trace = writer->trace;
  const uint64_t room = trace->activities.count + 1;
  int64_t *all = malloc(4 * room * sizeof *all);
  if (!all) return PD_NO_MEMORY;
  moments launches = {.ns = all},
          begins = {.ns = all + room}; /* of what has a launch: it enters and leaves the queue */
  moments starts = {.ns = all + 2 * room}, ends = {.ns = all + 3 * room};
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.device != device) continue;
    if (row->call != PD_NONE) {
      launches.ns[launches.count++] = earliest(PD_AT(pd_call, &trace->calls, row->call)->start_ns, row->start_ns);
      begins.ns[begins.count++] = row->start_ns;
    }
    starts.ns[starts.count++] = row->start_ns;
    ends.ns[ends.count++] = row->end_ns;
  }
  put_in_order(&launches);
  put_in_order(&ends);
  write_changes(writer, device, &launches, &begins, &starts, &ends);
  free(all);
  return PD_OK;
}

static pd_status write_devices(event_writer *writer) {
  const pd_trace *trace = writer->trace;
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

pd_status counter_events_write(event_writer *writer) {
  if (writer->counters == COUNTERS_NONE) return PD_OK;
  memory_counters_write(writer);
  write_recorded(writer);
  const pd_status written = writer->counters == COUNTERS_FEW ? PD_OK : write_devices(writer);
  return written == PD_OK ? ledger_events_write(writer) : written;
}
