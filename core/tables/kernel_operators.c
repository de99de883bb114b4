/* Kernels by the operator that launched them: what the profiler plugin's Kernel view groups by. */
#include "span_groups.h"

#include <stdlib.h>

/* String id of the innermost operator around the launch, or of the range where there is none; 0: outside all. */
static uint32_t operator_of(const trace_facts *facts, const pd_device_row *row) {
  uint32_t at = row->range;
  while (at < facts->range_count) {
    const pd_range *range = facts_range(facts, at);
    if (range->kind == PD_RANGE_OP) return range->name;
    if (range->parent == PD_NONE) break;
    at = range->parent;
  }
  if (row->range >= facts->range_count || facts_range(facts, row->range)->kind == PD_RANGE_STEP) return 0;
  return facts_range(facts, row->range)->name;
}

const pd_table *kernel_operators_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  span_groups groups = {0};
  uint32_t *order = NULL;
  const pd_table *done = NULL;
  int64_t gpu_ns = 0;
  table_build table;
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const int64_t span = facts_span(row->start_ns, row->end_ns);
    if (row->detail.kind != PD_ACTIVITY_KERNEL) continue;
    span_group *group = span_groups_at(&groups, PD_NONE, PD_NONE, operator_of(facts, row), row->name);
    if (!group) goto out;
    span_stats_add(&group->stats, 0, span);
    gpu_ns += span;
  }
  order = span_order(&groups, "GPUTotal");
  if (!order) goto out;
  table_begin(&table, work->arena, work->is_cuda, "kernel_operators", "Kernels by operator",
              "A row for each kernel and each operator that launches it: the innermost one around the launch. "
              "Ratios are of the time of all kernels.");
  TABLE_COLUMNS(&table, M_name, M_operator, M_calls, M_gpu_total, M_gpu_avg, M_gpu_max, M_gpu_min, M_gpu_ratio);
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    const span_group *group = &groups.rows[order[i]];
    table_row(&table, 0);
    table_string(&table, M_name, facts_text(facts, group->name));
    table_string(&table, M_operator, group->kind ? facts_text(facts, group->kind) : "(outside all ranges)");
    span_cells(&table, &group->stats, 0, gpu_ns, false, true);
  }
  done = table_done(&table);
out:
  if (!done) work->arena->failed = true;
  free(order);
  span_groups_free(&groups);
  return done;
}
