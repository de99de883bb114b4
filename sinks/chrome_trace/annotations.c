/*
 * gpu_user_annotation: from the first to the last device row launched while a user range was the innermost one, one
 * nanosecond wider on both sides, so that viewers draw it around them. Steps get none: readers would count them twice.
 *
 * Where two annotations, or an annotation and a foreign row, would overlap in part, the annotation gives way: viewers
 * drop what does not nest.
 */
#include "event_index.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdlib.h>

enum { DEEPEST = 512 }; /* as Perfetto has it */

static int by_start(const void *a, const void *b) {
  const annotation *x = a, *y = b;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
  return (x->range > y->range) - (x->range < y->range);
}

/* The row of lane 0 that covers `ts_ns` inside, or NULL. */
static const pd_device_row *row_around(const event_index *index, const pd_trace *trace, uint32_t stream,
                                       int64_t ts_ns) {
  uint32_t low = index->stream_first[stream], high = index->stream_first[stream + 1];
  while (low < high) { /* first row that starts at or after ts */
    const uint32_t middle = low + (high - low) / 2;
    if (PD_AT(pd_device_row, &trace->activities, index->rows_by_stream[middle])->start_ns < ts_ns)
      low = middle + 1;
    else
      high = middle;
  }
  while (low > index->stream_first[stream]) {
    const uint32_t i = index->rows_by_stream[--low];
    if (index->lane[i]) continue;
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    return row->end_ns > ts_ns ? row : NULL;
  }
  return NULL;
}

/* Widens, keeps clear of rows, nests; returns how many are left of the `count` from `first` on. */
static uint64_t settle(event_index *index, const pd_trace *trace, uint64_t first, uint64_t count) {
  annotation *all = index->annotations + first;
  for (uint64_t i = 0; i < count; i++) {
    const pd_device_row *row = row_around(index, trace, all[i].stream, --all[i].start_ns);
    if (row) all[i].start_ns = row->end_ns;
    row = row_around(index, trace, all[i].stream, ++all[i].end_ns);
    if (row) all[i].end_ns = row->start_ns;
  }
  qsort(all, count, sizeof *all, by_start);
  int64_t open_ends[DEEPEST];
  double open_ends_us[DEEPEST];
  uint64_t kept = 0, depth = 0;
  for (uint64_t i = 0; i < count; i++) {
    annotation next = all[i];
    while (depth && open_ends[depth - 1] <= next.start_ns) depth--;
    if (depth && open_ends[depth - 1] < next.end_ns) next.end_ns = open_ends[depth - 1];
    if (next.end_ns <= next.start_ns) continue;
    if (depth == DEEPEST) {
      index->too_deep++;
      continue;
    }
    next.end_ns =
        event_safe_end(next.start_ns, next.end_ns, depth ? open_ends_us[depth - 1] : HUGE_VAL, &open_ends_us[depth]);
    open_ends[depth++] = next.end_ns;
    all[kept++] = next;
  }
  return kept;
}

pd_status annotations_build(event_index *index, const pd_trace *trace) {
  uint64_t room = 64, count = 0;
  pd_status status = PD_NO_MEMORY;
  uint32_t *slot = calloc(trace->ranges.count ? trace->ranges.count : 1, sizeof *slot); /* place + 1 */
  index->annotations = malloc(room * sizeof *index->annotations);
  if (!slot || !index->annotations) goto out;
  for (uint32_t s = 0; s < trace->streams.count; s++) {
    const uint64_t first = count;
    for (uint32_t k = index->stream_first[s]; k < index->stream_first[s + 1]; k++) {
      const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, index->rows_by_stream[k]);
      const uint32_t range = pd_trace_annotation(trace, row->range);
      if (range == PD_NONE) continue;
      if (slot[range] > first) {
        annotation *known = &index->annotations[slot[range] - 1];
        if (row->end_ns > known->end_ns) known->end_ns = row->end_ns;
        continue;
      }
      if (!PD_ARRAY_FIT(index->annotations, room, count + 1)) goto out;
      index->annotations[count] = (annotation){row->start_ns, row->end_ns, range, s};
      slot[range] = (uint32_t)++count;
    }
    const uint64_t kept = settle(index, trace, first, count - first);
    memset(slot, 0, trace->ranges.count * sizeof *slot);
    count = first + kept;
  }
  index->annotation_count = count;
  status = PD_OK;
out:
  free(slot);
  return status;
}
