/*
 * Paddle's Operator Summary: operators, inside them their inner ranges, inside those their kernels and copies. An
 * operator is an operation that no other operation holds; nested operations are inner ranges of it.
 */
#include "tables/span_groups.h"

#include <stdlib.h>

enum { KIND_OPERATOR, KIND_INNER, KIND_DEVICE };

/* The index of the group that `range` adds to, for operators and outermost inner ranges; PD_NONE on no memory. */
static uint32_t add_range(const table_work *work, span_groups *groups, const uint32_t *group_of, uint64_t i) {
  const trace_facts *facts = work->facts;
  const pd_range *range = facts_range(facts, i);
  bool outer = facts->operation[i] == i;
  uint32_t parent = outer ? PD_NONE : group_of[facts->operation[i]];
  uint32_t thread = work->request->thread_sep ? range->thread : PD_NONE;
  span_group *group = span_groups_at(groups, parent, thread, outer ? KIND_OPERATOR : KIND_INNER, range->name);
  if (!group) return PD_NONE;
  span_stats_add(&group->stats, facts_span(range->start_ns, range->end_ns), facts->device_total_ns[i]);
  return (uint32_t)(group - groups->rows);
}

static bool add_records(const table_work *work, span_groups *groups, const uint32_t *group_of) {
  const trace_facts *facts = work->facts;
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    uint32_t operation = row->range < facts->range_count ? facts->operation[row->range] : PD_NONE;
    span_group *group;
    uint32_t parent;
    if (operation == PD_NONE) continue;
    parent = group_of[facts->inner[row->range] != PD_NONE ? facts->inner[row->range] : operation];
    group = span_groups_at(groups, parent, groups->rows[parent].thread, KIND_DEVICE, row->name);
    if (!group) return false;
    span_stats_add(&group->stats, 0, facts_span(row->start_ns, row->end_ns));
  }
  return true;
}

static bool collect(const table_work *work, span_groups *groups) {
  const trace_facts *facts = work->facts;
  const bool detail = !work->request->hide_op_detail;
  uint32_t *group_of = malloc((facts->range_count + 1) * sizeof *group_of);
  bool ok = group_of != NULL;
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    if (facts->operation[i] != i && !(detail && facts->inner[i] == i)) continue;
    group_of[i] = add_range(work, groups, group_of, i);
    ok = group_of[i] != PD_NONE;
  }
  ok = ok && (!detail || add_records(work, groups, group_of));
  free(group_of);
  return ok;
}

const pd_table *operator_summary_table(const table_work *work) {
  static const char *const kinds[] = {"operator", "inner", "device"};
  const trace_facts *facts = work->facts;
  const bool device = facts->trace->profile == PD_PROFILE_FULL;
  span_groups groups = {0};
  uint32_t *order = NULL;
  const pd_table *done = NULL;
  int64_t cpu_ns = 0, gpu_ns = 0;
  table_build table;
  if (!collect(work, &groups) || !(order = span_order(&groups, work->request->sorted_by))) {
    work->arena->failed = true;
    goto out;
  }
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    if (groups.rows[i].kind != KIND_OPERATOR) continue;
    cpu_ns += groups.rows[i].stats.cpu_ns;
    gpu_ns += groups.rows[i].stats.gpu_ns;
  }
  table_begin(
      &table, work->arena, work->is_cuda, "operator_summary", "Operator Summary",
      work->request->thread_sep
          ? "Operators of each thread apart. Ratios are of the sum over all operators; of an inner row, of its parent."
          : "All threads merged. Ratios are of the sum over all operators; of an inner row, of its parent.");
  if (!device) table_without_device(&table, facts->trace->profile_note);
  table_column(&table, M_name);
  if (work->request->thread_sep) table_column(&table, M_thread);
  TABLE_COLUMNS(&table, M_kind, SPAN_COLUMNS);
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    const span_group *group = &groups.rows[order[i]];
    const span_group *parent = group->parent < groups.keys.count ? &groups.rows[group->parent] : NULL;
    uint32_t level = 0;
    for (const span_group *up = parent; up; up = up->parent < groups.keys.count ? &groups.rows[up->parent] : NULL)
      level++;
    table_row(&table, level);
    span_names(&table, facts, group);
    table_string(&table, M_kind, kinds[group->kind]);
    span_cells(&table, &group->stats, parent ? parent->stats.cpu_ns : cpu_ns, parent ? parent->stats.gpu_ns : gpu_ns,
               group->kind != KIND_DEVICE, device);
  }
  done = table_done(&table);
out:
  free(order);
  span_groups_free(&groups);
  return done;
}
