/* The tables of kernels: the launches of each kernel, with what they have in common, as Paddle's Kernel Summary has
 * them. */
#include "tables/span_groups.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* Beside the times of a kernel name. */
typedef struct launches {
  pd_activity first;
  bool same_grid, same_block, same_registers, same_shared;
  double occupancy_ns, occupancy_weight_ns, blocks_ns, blocks_weight_ns;
} launches;

static void add_launch(launches *at, const pd_activity *detail, int64_t span, bool is_first) {
  if (is_first) {
    *at = (launches){
        .first = *detail, .same_grid = true, .same_block = true, .same_registers = true, .same_shared = true};
  } else {
    at->same_grid =
        at->same_grid && !memcmp(at->first.u.kernel.grid, detail->u.kernel.grid, sizeof detail->u.kernel.grid);
    at->same_block =
        at->same_block && !memcmp(at->first.u.kernel.block, detail->u.kernel.block, sizeof detail->u.kernel.block);
    at->same_registers = at->same_registers && at->first.u.kernel.registers == detail->u.kernel.registers;
    at->same_shared = at->same_shared && at->first.u.kernel.static_bytes == detail->u.kernel.static_bytes &&
                      at->first.u.kernel.dynamic_bytes == detail->u.kernel.dynamic_bytes;
  }
  if (detail->u.kernel.occupancy >= 0) {
    at->occupancy_ns += (double)span * (double)detail->u.kernel.occupancy;
    at->occupancy_weight_ns += (double)span;
  }
  if (detail->u.kernel.blocks_per_sm > 0) {
    at->blocks_ns += (double)span * (double)detail->u.kernel.blocks_per_sm;
    at->blocks_weight_ns += (double)span;
  }
}

static void put_launches(table_build *table, const table_work *work, const launches *at) {
  const uint32_t *grid = at->first.u.kernel.grid, *block = at->first.u.kernel.block;
  if (at->same_grid && grid[0])
    table_string(table, M_grid, arena_format(work->arena, "%u,%u,%u", grid[0], grid[1], grid[2]));
  if (at->same_block && block[0])
    table_string(table, M_block, arena_format(work->arena, "%u,%u,%u", block[0], block[1], block[2]));
  if (at->same_registers && at->first.u.kernel.registers) table_int(table, M_registers, at->first.u.kernel.registers);
  if (at->same_shared && grid[0])
    table_int(table, M_shared_memory, (int64_t)at->first.u.kernel.static_bytes + at->first.u.kernel.dynamic_bytes);
  if (at->occupancy_weight_ns > 0) table_double(table, M_occupancy, 100 * at->occupancy_ns / at->occupancy_weight_ns);
  if (at->blocks_weight_ns > 0) table_double(table, M_blocks_per_sm, at->blocks_ns / at->blocks_weight_ns);
}

const pd_table *kernel_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  span_groups groups = {0};
  launches *details = NULL;
  uint32_t *order = NULL, room = 0;
  const pd_table *done = NULL;
  int64_t gpu_ns = 0;
  table_build table;
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    int64_t span = facts_span(row->start_ns, row->end_ns);
    span_group *group;
    uint32_t index;
    if (row->detail.kind != PD_ACTIVITY_KERNEL) continue;
    group = span_groups_at(&groups, PD_NONE, PD_NONE, 0, row->name);
    if (!group) goto out;
    index = (uint32_t)(group - groups.rows);
    if (!PD_ARRAY_FIT_ZERO(details, room, index + 1)) goto out;
    add_launch(&details[index], &row->detail, span, !group->stats.calls);
    span_stats_add(&group->stats, 0, span);
    gpu_ns += span;
  }
  order = span_order(&groups, work->request->sorted_by && strncmp(work->request->sorted_by, "CPU", 3) != 0
                                  ? work->request->sorted_by
                                  : "GPUTotal");
  if (!order) goto out;
  table_begin(
      &table, work->arena, work->is_cuda, "kernels", "Kernel Summary",
      "Ratios are of the time of all kernels. Grid, block, registers and shared memory stand where all launches "
      "agree.");
  TABLE_COLUMNS(&table, M_name, M_calls, M_gpu_total, M_gpu_avg, M_gpu_max, M_gpu_min, M_gpu_ratio, M_grid, M_block,
                M_registers, M_shared_memory, M_occupancy, M_blocks_per_sm);
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    const span_group *group = &groups.rows[order[i]];
    table_row(&table, 0);
    table_string(&table, M_name, facts_text(facts, group->name));
    span_cells(&table, &group->stats, 0, gpu_ns, false, true);
    put_launches(&table, work, &details[order[i]]);
  }
  done = table_done(&table);
out:
  if (!done) work->arena->failed = true;
  free(order);
  free(details);
  span_groups_free(&groups);
  return done;
}
