/* See timeline.h: the steps as they were recorded, and what recording them touched. */
#include "timeline.h"

#include "base/stats.h"

#include <stdlib.h>

void timeline_observed(const timeline *of, int64_t *bounds) {
  int64_t device_end = INT64_MIN;
  uint32_t r = 0;
  bounds[0] = of->bounds[0];
  for (uint32_t s = 1; s <= of->step_count; s++) {
    for (; r < of->record_count && of->calls[of->records[r].call].step < s; r++)
      if (of->records[r].end_ns > device_end) device_end = of->records[r].end_ns;
    bounds[s] = of->bounds[s] > device_end ? of->bounds[s] : device_end;
  }
}

enum { NESTED_MOST = 1 << 16 };

/* `operations` are in the order of their threads and starts. */
static bool nested_quartile(const timeline *of, const uint32_t *operations, uint64_t count, double *out) {
  const uint64_t stride = count / NESTED_MOST + 1;
  double *times = malloc((count / stride + 2) * sizeof *times);
  uint64_t found = 0;
  if (!times) return false;
  for (uint64_t i = 1; i < count; i += stride) {
    const pd_range *inner = facts_range(of->facts, operations[i]), *outer = facts_range(of->facts, operations[i - 1]);
    if (inner->parent == operations[i - 1]) times[found++] = (double)(inner->start_ns - outer->start_ns);
  }
  stats_sort(times, found);
  *out = stats_quantile(times, found, 0.25);
  free(times);
  return true;
}

/* Whether the range is an operation, of a judged thread and within the steps. */
static bool is_recorded(const timeline *of, const pd_range *range) {
  if (!facts_is_operation(range->kind) && range->kind != PD_RANGE_OP_INNER) return false;
  if (range->thread >= of->facts->trace->threads.count || of->lane_of[range->thread] == TIMELINE_UNJUDGED) return false;
  return range->start_ns >= of->bounds[0] && range->start_ns < of->bounds[of->step_count];
}

/* Whether a silence in it is the framework's own, as it is in an operation: an optimizer that walks over all parameters
 * is launching. */
static bool is_frameworks(const pd_range *range) {
  return facts_is_operation(range->kind) || (range->kind == PD_RANGE_USER && range->part == PD_PART_OPTIMIZATION);
}

static bool see_range(timeline *self, const pd_range *range) {
  const int64_t from = self->bounds[0], to = self->bounds[self->step_count];
  self->has_operations |= facts_is_operation(range->kind);
  self->has_inputs |= range->kind == PD_RANGE_DATALOADER;
  self->has_parts |= range->part == PD_PART_FORWARD || range->part == PD_PART_BACKWARD;
  self->operations += is_recorded(self, range);
  if (range->thread >= self->facts->trace->threads.count) return true;
  const uint16_t lane = self->lane_of[range->thread];
  if (lane == TIMELINE_UNJUDGED) return true;
  const int64_t start = range->start_ns > from ? range->start_ns : from;
  const int64_t end = range->end_ns < to ? range->end_ns : to;
  if (range->kind == PD_RANGE_DATALOADER && !intervals_add(&self->inputs[lane], start, end)) return false;
  return !is_frameworks(range) || intervals_add(&self->frameworks[lane], start, end);
}

/* All that is asked of the ranges, at once: they are most of a trace. */
bool timeline_see_ranges(timeline *self) {
  self->inputs = calloc((size_t)self->lane_count + 1, sizeof *self->inputs);
  self->frameworks = calloc((size_t)self->lane_count + 1, sizeof *self->frameworks);
  bool ok = self->inputs && self->frameworks;
  for (uint64_t i = 0; ok && i < self->facts->range_count; i++) ok = see_range(self, facts_range(self->facts, i));
  return ok;
}

bool timeline_nested(const timeline *of, double *ns) {
  uint32_t *operations = malloc((of->facts->range_count + 1) * sizeof *operations);
  uint64_t count = 0;
  if (!operations) return false;
  for (uint64_t i = 0; i < of->facts->range_count; i++)
    if (is_recorded(of, facts_range(of->facts, i))) operations[count++] = (uint32_t)i;
  const bool found = nested_quartile(of, operations, count, ns);
  free(operations);
  return found;
}

bool timeline_launch_quartile(const timeline *of, double *ns) {
  double *times = malloc((of->call_count + 1) * sizeof *times);
  uint64_t found = 0;
  if (!times) return false;
  for (uint32_t c = 0; c < of->call_count; c++) {
    const timeline_call *call = &of->calls[c];
    if (call->kind == TIMELINE_LAUNCH && call->record_count && !call->is_graph)
      times[found++] = (double)(call->end_ns - call->start_ns);
  }
  stats_sort(times, found);
  *ns = stats_quantile(times, found, 0.25);
  free(times);
  return true;
}

void timeline_count_launching(const timeline *of, timeline_launching *out) {
  *out = (timeline_launching){.operations = (double)of->operations, .calls = of->call_count};
  for (uint64_t i = 0; i < of->item_count; i++) {
    const replay_item *item = &of->items[i];
    const bool makes_batch = item->owner == REPLAY_INPUT && (item->flags & REPLAY_SCALED);
    if (item->owner == REPLAY_LAUNCH || makes_batch) out->ns += (double)item->duration_ns;
  }
  for (uint32_t c = 0; c < of->call_count; c++) {
    const timeline_call *call = &of->calls[c];
    out->launches += call->record_count > 0;
    out->graphs += call->record_count && call->is_graph;
    if (call->is_graph) out->graph_records += call->record_count;
  }
}
