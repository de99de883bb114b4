/* See event_index.h. */
#include "event_index.h"

#include <stdlib.h>

static void *room(uint64_t count, size_t bytes) { return calloc(count ? count : 1, bytes); }

void event_index_free(event_index *index) {
  if (!index) return;
  free(index->calls_by_thread);
  free(index->thread_first);
  free(index->range_first);
  free(index->rows_by_stream);
  free(index->stream_first);
  free(index->lane);
  free(index->lanes_used);
  free(index->forward_of);
  free(index->flow);
  free(index->annotations);
  free(index->wait_start_ns);
  free(index->wait_call);
  free(index->stream_waits);
  free(index->call_waits);
  free(index);
}

/* Counts in first[group + 1] become places; `first` has groups + 1 entries. */
static void add_up(uint32_t *first, uint64_t groups) {
  for (uint64_t i = 0; i < groups; i++) first[i + 1] += first[i];
}

static void group_calls(event_index *index, const pd_trace *trace) {
  const uint64_t threads = trace->threads.count;
  for (uint64_t i = 0; i < trace->calls.count; i++) index->thread_first[PD_AT(pd_call, &trace->calls, i)->thread + 1]++;
  add_up(index->thread_first, threads);
  for (uint64_t i = 0; i < trace->calls.count; i++)
    index->calls_by_thread[index->thread_first[PD_AT(pd_call, &trace->calls, i)->thread]++] = (uint32_t)i;
  for (uint64_t i = threads; i-- > 0;) index->thread_first[i + 1] = index->thread_first[i];
  index->thread_first[0] = 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++)
    index->range_first[PD_AT(pd_range, &trace->ranges, i)->thread + 1]++;
  add_up(index->range_first, threads);
}

static void group_rows(event_index *index, const pd_trace *trace) {
  const uint64_t streams = trace->streams.count;
  for (uint64_t i = 0; i < trace->activities.count; i++)
    index->stream_first[PD_AT(pd_device_row, &trace->activities, i)->stream + 1]++;
  add_up(index->stream_first, streams);
  for (uint64_t i = 0; i < trace->activities.count; i++)
    index->rows_by_stream[index->stream_first[PD_AT(pd_device_row, &trace->activities, i)->stream]++] = (uint32_t)i;
  for (uint64_t i = streams; i-- > 0;) index->stream_first[i + 1] = index->stream_first[i];
  index->stream_first[0] = 0;
}

/* Rows of a stream may overlap (programmatic launches, branches of a graph): each goes to the first lane that is free
 * when it starts, to the last lane when none is. */
static void choose_lanes(event_index *index, const pd_trace *trace) {
  for (uint64_t s = 0; s < trace->streams.count; s++) {
    int64_t ends[LANES];
    for (uint32_t lane = 0; lane < LANES; lane++) ends[lane] = INT64_MIN;
    for (uint32_t k = index->stream_first[s]; k < index->stream_first[s + 1]; k++) {
      const uint32_t i = index->rows_by_stream[k];
      const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
      uint32_t lane = 0;
      while (lane < LANES - 1 && ends[lane] > row->start_ns) lane++;
      index->lane[i] = (uint8_t)lane;
      index->crowded += ends[lane] > row->start_ns;
      if (lane >= index->lanes_used[s]) index->lanes_used[s] = (uint16_t)(lane + 1);
      if (row->end_ns > ends[lane]) ends[lane] = row->end_ns;
    }
  }
}

typedef struct sequence_row {
  uint32_t sequence, backward, range;
} sequence_row;

static int by_sequence(const void *a, const void *b) {
  const sequence_row *x = a, *y = b;
  if (x->sequence != y->sequence) return x->sequence < y->sequence ? -1 : 1;
  if (x->backward != y->backward) return x->backward < y->backward ? -1 : 1;
  return (x->range > y->range) - (x->range < y->range);
}

/* The first forward and the first backward range of a sequence number are the two ends of its flow. */
static pd_status tie_backward(event_index *index, const pd_trace *trace) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    index->forward_of[i] = PD_NONE;
    count += PD_AT(pd_range, &trace->ranges, i)->sequence != 0;
  }
  sequence_row *rows = room(count, sizeof *rows);
  if (!rows) return PD_NO_MEMORY;
  count = 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (range->sequence) rows[count++] = (sequence_row){range->sequence, range->backward != 0, (uint32_t)i};
  }
  qsort(rows, count, sizeof *rows, by_sequence);
  uint32_t id = 0, forward = PD_NONE;
  for (uint64_t i = 0; i < count; i++) {
    const bool first = i == 0 || rows[i - 1].sequence != rows[i].sequence;
    if (first) forward = rows[i].backward ? PD_NONE : rows[i].range;
    if (!rows[i].backward || forward == PD_NONE) continue;
    index->forward_of[rows[i].range] = forward;
    if (!rows[i - 1].backward) index->flow[rows[i].range] = index->flow[forward] = ++id;
  }
  free(rows);
  return PD_OK;
}

event_index *event_index_build(const pd_trace *trace) {
  event_index *index = calloc(1, sizeof *index);
  if (!index) return NULL;
  index->calls_by_thread = room(trace->calls.count, sizeof *index->calls_by_thread);
  index->thread_first = room(trace->threads.count + 1, sizeof *index->thread_first);
  index->range_first = room(trace->threads.count + 1, sizeof *index->range_first);
  index->rows_by_stream = room(trace->activities.count, sizeof *index->rows_by_stream);
  index->stream_first = room(trace->streams.count + 1, sizeof *index->stream_first);
  index->lane = room(trace->activities.count, sizeof *index->lane);
  index->lanes_used = room(trace->streams.count, sizeof *index->lanes_used);
  index->forward_of = room(trace->ranges.count, sizeof *index->forward_of);
  index->flow = room(trace->ranges.count, sizeof *index->flow);
  index->wait_start_ns = room(trace->others.count, sizeof *index->wait_start_ns);
  index->wait_call = room(trace->others.count, sizeof *index->wait_call);
  index->stream_waits = room(trace->streams.count, sizeof *index->stream_waits);
  index->call_waits = room(trace->calls.count, sizeof *index->call_waits);
  if (!index->calls_by_thread || !index->thread_first || !index->range_first || !index->rows_by_stream ||
      !index->stream_first || !index->lane || !index->lanes_used || !index->forward_of || !index->flow ||
      !index->wait_start_ns || !index->wait_call || !index->stream_waits || !index->call_waits)
    goto no_memory;
  group_calls(index, trace);
  group_rows(index, trace);
  choose_lanes(index, trace);
  if (tie_backward(index, trace) != PD_OK || annotations_build(index, trace) != PD_OK ||
      waits_build(index, trace) != PD_OK)
    goto no_memory;
  return index;
no_memory:
  event_index_free(index);
  return NULL;
}
