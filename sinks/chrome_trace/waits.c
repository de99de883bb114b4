/*
 * The device's synchronisations: where each begins on its track, and which call it belongs to, so that both ends of a
 * flow are drawn or none. Waits of one track may overlap, since several threads can wait: the later is cut.
 */
#include "event_index.h"

#include <stdlib.h>

/* One track per stream, and one per device for waits of whole contexts. */
typedef struct tracks {
  int64_t *stream_end, *device_end;
  uint32_t *devices, device_count;
} tracks;

static int64_t *end_of(tracks *self, const pd_trace *trace, const pd_other_row *row) {
  if (event_index_stream(trace, row)) return &self->stream_end[row->stream];
  const uint32_t device = event_index_device(trace, row);
  uint32_t i = 0;
  while (i < self->device_count && self->devices[i] != device) i++;
  if (i == self->device_count) {
    self->devices[self->device_count++] = device;
    self->device_end[i] = INT64_MIN;
  }
  return &self->device_end[i];
}

/* A wait of known correlation. */
typedef struct wait_key {
  uint64_t correlation;
  uint32_t row, reserved;
} wait_key;

static int by_correlation(const void *a, const void *b) {
  const wait_key *x = a, *y = b;
  if (x->correlation != y->correlation) return x->correlation < y->correlation ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static uint64_t first_of(const wait_key *keys, uint64_t count, uint64_t correlation) {
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (keys[middle].correlation < correlation)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void tie_calls(event_index *index, const pd_trace *trace, wait_key *keys, uint64_t count) {
  if (count) qsort(keys, count, sizeof *keys, by_correlation);
  for (uint64_t i = 0; count && i < trace->calls.count; i++) {
    const uint64_t correlation = PD_AT(pd_call, &trace->calls, i)->correlation;
    for (uint64_t k = first_of(keys, count, correlation); k < count && keys[k].correlation == correlation; k++) {
      if (index->wait_call[keys[k].row] != PD_NONE) break; /* an earlier call of that id has them all */
      index->wait_call[keys[k].row] = (uint32_t)i;
      index->call_waits[i] = 1;
    }
  }
}

pd_status waits_build(event_index *index, const pd_trace *trace) {
  const uint64_t others = trace->others.count;
  uint64_t known = 0, waits = 0;
  for (uint64_t i = 0; i < others; i++) {
    index->wait_call[i] = PD_NONE;
    waits += PD_AT(pd_other_row, &trace->others, i)->kind == PD_ACTIVITY_SYNC;
  }
  if (!waits) return PD_OK;
  wait_key *keys = malloc(waits * sizeof *keys);
  tracks ends = {.stream_end = malloc((trace->streams.count + 1) * sizeof(int64_t)),
                 .device_end = malloc(waits * sizeof(int64_t)),
                 .devices = malloc(waits * sizeof(uint32_t))};
  const bool ok = keys && ends.stream_end && ends.device_end && ends.devices;
  for (uint64_t i = 0; ok && i < trace->streams.count; i++) ends.stream_end[i] = INT64_MIN;
  for (uint64_t i = 0; ok && i < others; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &trace->others, i);
    if (row->kind != PD_ACTIVITY_SYNC) continue;
    int64_t *end = end_of(&ends, trace, row);
    index->wait_start_ns[i] = row->start_ns < *end ? *end : row->start_ns;
    if (index->wait_start_ns[i] > row->end_ns) {
      index->wait_start_ns[i] = INT64_MAX;
      continue;
    }
    *end = row->end_ns;
    if (row->stream != PD_NONE) index->stream_waits[row->stream] = 1;
    if (row->correlation) keys[known++] = (wait_key){row->correlation, (uint32_t)i, 0};
  }
  if (ok) tie_calls(index, trace, keys, known);
  free(keys);
  free(ends.stream_end);
  free(ends.device_end);
  free(ends.devices);
  return ok ? PD_OK : PD_NO_MEMORY;
}
