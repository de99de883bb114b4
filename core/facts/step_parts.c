/* See step_parts.h; definitions of torch_tb_profiler. */
#include "step_parts.h"

#include <stdlib.h>
#include <string.h>

/* Kernels, copies and sets. */
static bool device_intervals(const trace_facts *facts, intervals *lists) {
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const uint32_t part = row->detail.kind == PD_ACTIVITY_KERNEL   ? STEP_KERNEL
                          : row->detail.kind == PD_ACTIVITY_MEMCPY ? STEP_MEMCPY
                                                                   : STEP_MEMSET;
    if (!intervals_add(&lists[part], row->start_ns, row->end_ns)) return false;
  }
  return intervals_merge(&lists[STEP_KERNEL]) && intervals_merge(&lists[STEP_MEMCPY]) &&
         intervals_merge(&lists[STEP_MEMSET]);
}

/* Only the ranges that no range of the same class holds: the others add nothing to the union. */
static bool range_intervals(const trace_facts *facts, intervals *communication, intervals *dataloader, intervals *cpu) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind == PD_RANGE_STEP) continue;
    if (range->kind == PD_RANGE_DATALOADER) {
      ok = intervals_add(dataloader, range->start_ns, range->end_ns);
    } else {
      const pd_range *parent = range->parent < i ? facts_range(facts, range->parent) : NULL;
      if (facts_is_communication(facts, range->name)) ok = intervals_add(communication, range->start_ns, range->end_ns);
      if (ok && (!parent || parent->kind == PD_RANGE_STEP || parent->kind == PD_RANGE_DATALOADER))
        ok = intervals_add(cpu, range->start_ns, range->end_ns);
    }
  }
  return ok && intervals_merge(communication) && intervals_merge(dataloader) && intervals_merge(cpu);
}

static bool runtime_intervals(const trace_facts *facts, intervals *out) {
  for (uint64_t i = 0; i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    if (call->kind == PD_ACTIVITY_RUNTIME && !intervals_add(out, call->start_ns, call->end_ns)) return false;
  }
  return intervals_merge(out);
}

void step_parts_add(const trace_facts *facts, const intervals *list, int64_t *rows, size_t stride) {
  size_t at = 0;
  for (uint64_t s = 0; s < facts->step_count; s++) {
    const pd_trace_step *step = facts_step(facts, s);
    while (at < list->count && list->rows[at].end <= step->start_ns) at++;
    for (size_t i = at; i < list->count && list->rows[i].start < step->end_ns; i++) {
      int64_t start = list->rows[i].start > step->start_ns ? list->rows[i].start : step->start_ns;
      int64_t end = list->rows[i].end < step->end_ns ? list->rows[i].end : step->end_ns;
      rows[s * stride] += facts_span(start, end);
    }
  }
}

bool step_parts_open(const trace_facts *facts, step_parts *parts) {
  intervals *const lists = parts->lists;
  intervals covered = {0}, alone = {0}, next = {0};
  bool ok;
  memset(parts, 0, sizeof *parts);
  parts->rows = calloc((facts->step_count + 1) * STEP_PART_COUNT, sizeof *parts->rows);
  ok = parts->rows && device_intervals(facts, lists) &&
       range_intervals(facts, &lists[STEP_COMMUNICATION], &lists[STEP_DATALOADER], &lists[STEP_CPU_EXEC]) &&
       runtime_intervals(facts, &lists[STEP_RUNTIME]);
  for (uint32_t p = 0; ok && p < STEP_OTHER; p++) {
    intervals spare = covered;
    if (!lists[p].count) continue;
    ok = !covered.count || intervals_subtract(&lists[p], &covered, &alone);
    step_parts_add(facts, covered.count ? &alone : &lists[p], parts->rows + p, STEP_PART_COUNT);
    if (p + 1 == STEP_OTHER) break; /* what is covered is not asked for any more */
    ok = ok && intervals_union(&covered, &lists[p], &next);
    covered = next;
    next = spare;
  }
  for (uint64_t s = 0; ok && s < facts->step_count; s++) {
    int64_t *row = parts->rows + s * STEP_PART_COUNT;
    row[STEP_OTHER] = facts_span(facts_step(facts, s)->start_ns, facts_step(facts, s)->end_ns);
    for (uint32_t p = 0; p < STEP_OTHER; p++) row[STEP_OTHER] -= row[p];
  }
  intervals_free(&covered);
  intervals_free(&alone);
  intervals_free(&next);
  if (!ok) step_parts_free(parts);
  return ok;
}

void step_parts_free(step_parts *parts) {
  for (uint32_t p = 0; p < STEP_OTHER; p++) intervals_free(&parts->lists[p]);
  free(parts->rows);
  parts->rows = NULL;
}

bool step_part_is_known(const trace_facts *facts, uint32_t part) {
  return facts->trace->profile == PD_PROFILE_FULL || part == STEP_COMMUNICATION || part == STEP_DATALOADER;
}
