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

void timeline_count_launching(const timeline *of, timeline_launching *out) {
  *out = (timeline_launching){.calls = of->call_count};
  for (uint64_t i = 0; i < of->item_count; i++) {
    const replay_item *item = &of->items[i];
    const bool makes_batch = item->owner == REPLAY_INPUT && (item->flags & REPLAY_SCALED);
    if (item->owner == REPLAY_LAUNCH || makes_batch) out->ns += (double)item->duration_ns;
  }
  for (uint32_t c = 0; c < of->call_count; c++) out->launches += of->calls[c].record_count > 0;
  for (uint64_t i = 0; i < of->facts->range_count; i++) out->operations += is_recorded(of, facts_range(of->facts, i));
}
