/* See rank_parts.h. */
#include "rank_parts.h"

#include "facts/intervals.h"

/* Where the device is done with what was launched before the steps; INT64_MIN: there is no such work. */
static int64_t done_before(const trace_facts *facts) {
  int64_t done_ns = INT64_MIN;
  for (uint64_t i = 0; i < facts->activity_count && facts_activity(facts, i)->step >= facts->step_count; i++)
    if (facts_activity(facts, i)->end_ns > done_ns) done_ns = facts_activity(facts, i)->end_ns;
  return done_ns;
}

static bool collect_steps(const trace_facts *facts, intervals *steps) {
  const int64_t from_ns = done_before(facts);
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->step_count; i++) {
    const pd_trace_step *step = facts_step(facts, i);
    ok = intervals_add(steps, step->start_ns > from_ns ? step->start_ns : from_ns, step->end_ns);
  }
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->step >= facts->step_count) continue;
    const int64_t start_ns = facts_step(facts, row->step)->start_ns;
    ok = intervals_add(steps, start_ns > from_ns ? start_ns : from_ns, row->end_ns);
  }
  return ok && intervals_merge(steps);
}

/* By time, whichever step launched the work. */
static bool collect_work(const trace_facts *facts, intervals *kernels, intervals *collectives) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (facts_is_communication(facts, row->name))
      ok = intervals_add(collectives, row->start_ns, row->end_ns);
    else if (row->detail.kind == PD_ACTIVITY_KERNEL)
      ok = intervals_add(kernels, row->start_ns, row->end_ns);
  }
  return ok && intervals_merge(kernels) && intervals_merge(collectives);
}

bool rank_parts_add(rank_parts *self, const trace_facts *facts) {
  intervals steps = {0}, kernels = {0}, collectives = {0}, computing = {0}, communicating = {0}, both = {0}, rest = {0},
            other = {0};
  const bool ok = collect_steps(facts, &steps) && collect_work(facts, &kernels, &collectives) &&
                  intervals_intersect(&steps, &kernels, &computing) &&
                  intervals_intersect(&steps, &collectives, &communicating) &&
                  intervals_intersect(&computing, &communicating, &both) &&
                  intervals_subtract(&steps, &computing, &rest) && intervals_subtract(&rest, &communicating, &other);
  if (ok) {
    const int64_t overlap = intervals_length(&both);
    self->steps_ns += intervals_length(&steps);
    self->computation_ns += intervals_length(&computing) - overlap;
    self->overlap_ns += overlap;
    self->communication_ns += intervals_length(&communicating) - overlap;
    self->other_ns += intervals_length(&other);
  }
  intervals *const all[] = {&steps, &kernels, &collectives, &computing, &communicating, &both, &rest, &other};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) intervals_free(all[i]);
  return ok;
}
