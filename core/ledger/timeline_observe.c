/* See timeline.h: the steps as they were recorded, and what recording them touched. */
#include "timeline.h"

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

bool timeline_busy(const timeline *self, int64_t from, int64_t to, double *share) {
  intervals busy = {0};
  bool ok = true;
  for (uint32_t r = 0; ok && r < self->record_count; r++)
    ok = intervals_add(&busy, self->records[r].start_ns, self->records[r].end_ns);
  ok = ok && intervals_merge(&busy);
  *share = ok && to > from ? (double)intervals_within(&busy, from, to) / (double)(to - from) : 0;
  intervals_free(&busy);
  return ok;
}

void timeline_count_launching(const timeline *of, double *launching_ns, double *records) {
  *launching_ns = 0;
  *records = of->call_count;
  for (uint64_t i = 0; i < of->item_count; i++)
    if (of->items[i].owner == REPLAY_LAUNCH) *launching_ns += (double)of->items[i].duration_ns;
  for (uint64_t i = 0; i < of->facts->range_count; i++) {
    const pd_range *range = facts_range(of->facts, i);
    const bool counts = facts_is_operation(range->kind) || range->kind == PD_RANGE_OP_INNER;
    if (counts && range->thread < of->facts->trace->threads.count && of->lane_of[range->thread] != TIMELINE_UNJUDGED &&
        range->start_ns >= of->bounds[0] && range->start_ns < of->bounds[of->step_count])
      *records += 1;
  }
}
