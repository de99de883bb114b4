/* See shares.h. */
#include "shares.h"

#include <string.h>

static uint32_t class_of(const pd_device_row *row) {
  if (row->detail.kind == PD_ACTIVITY_KERNEL) return SHARE_KERNEL;
  if (row->detail.kind == PD_ACTIVITY_MEMSET) return SHARE_ON_DEVICE;
  if (row->detail.u.copy.from != PD_MEMORY_DEVICE) return SHARE_TO_DEVICE;
  return row->detail.u.copy.to == PD_MEMORY_DEVICE ? SHARE_ON_DEVICE : SHARE_TO_HOST;
}

static bool fill(const trace_facts *facts, intervals *of) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    ok = intervals_add(&of[class_of(row)], row->start_ns, row->end_ns);
  }
  for (uint64_t i = 0; ok && i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    ok = intervals_add(&of[SHARE_RUNTIME], call->start_ns, call->end_ns) &&
         (!call->activity_count || intervals_add(&of[SHARE_LAUNCHING], call->start_ns, call->end_ns));
  }
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind == PD_RANGE_DATALOADER)
      ok = intervals_add(&of[SHARE_DATALOADER], range->start_ns, range->end_ns);
    else if (range->kind == PD_RANGE_OP)
      ok = intervals_add(&of[SHARE_OPERATION], range->start_ns, range->end_ns);
  }
  return ok;
}

bool shares_of(const trace_facts *facts, const uint32_t *order, uint32_t count, double *shares) {
  intervals of[SHARE_CLASSES], left = {0}, mine = {0}, next = {0};
  memset(of, 0, sizeof of);
  memset(shares, 0, SHARE_COUNT * sizeof *shares);
  bool ok = fill(facts, of);
  for (uint64_t s = 0; ok && s < facts->step_count; s++)
    ok = intervals_add(&left, facts_step(facts, s)->start_ns, facts_step(facts, s)->end_ns);
  ok = ok && intervals_merge(&left);
  const double total = ok ? (double)intervals_length(&left) : 0;
  for (uint32_t i = 0; ok && i < count; i++) {
    ok = intervals_merge(&of[order[i]]) && intervals_intersect(&left, &of[order[i]], &mine) &&
         intervals_subtract(&left, &of[order[i]], &next);
    const intervals was = left;
    left = next;
    next = was;
    if (ok && total > 0) shares[order[i]] = (double)intervals_length(&mine) / total;
  }
  if (ok && total > 0) shares[SHARE_REST] = (double)intervals_length(&left) / total;
  for (uint32_t i = 0; i < SHARE_CLASSES; i++) intervals_free(&of[i]);
  intervals_free(&left);
  intervals_free(&mine);
  intervals_free(&next);
  return ok;
}
