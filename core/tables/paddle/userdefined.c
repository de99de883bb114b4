/* Paddle's UserDefined Summary: the user's own ranges. */
#include "tables/span_groups.h"

#include <stdlib.h>

const pd_table *userdefined_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  const bool device = facts->trace->profile == PD_PROFILE_FULL;
  span_groups groups = {0};
  uint32_t *order = NULL;
  const pd_table *done = NULL;
  int64_t cpu_ns = 0, gpu_ns = 0;
  table_build table;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    span_group *group;
    if (range->kind != PD_RANGE_USER) continue;
    group = span_groups_at(&groups, PD_NONE, work->request->thread_sep ? range->thread : PD_NONE, 0, range->name);
    if (!group) goto out;
    span_stats_add(&group->stats, facts_span(range->start_ns, range->end_ns), facts->device_total_ns[i]);
    cpu_ns += facts_span(range->start_ns, range->end_ns);
    gpu_ns += facts->device_total_ns[i];
  }
  order = span_order(&groups, work->request->sorted_by);
  if (!order) goto out;
  table_begin(&table, work->arena, work->is_cuda, "userdefined", "UserDefined Summary",
              "Ratios are of the sum over these rows; a range inside another counts in both.");
  if (!device) table_without_device(&table, facts->trace->profile_note);
  table_column(&table, M_name);
  if (work->request->thread_sep) table_column(&table, M_thread);
  TABLE_COLUMNS(&table, SPAN_COLUMNS);
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    const span_group *group = &groups.rows[order[i]];
    table_row(&table, 0);
    span_names(&table, facts, group);
    span_cells(&table, &group->stats, cpu_ns, gpu_ns, true, device);
  }
  done = table_done(&table);
out:
  if (!done) work->arena->failed = true;
  free(order);
  span_groups_free(&groups);
  return done;
}
