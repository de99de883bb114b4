/*
 * Paddle's Model Summary: how a step divides into waiting for data, forward, backward and optimisation. All figures are
 * per step, so that the rows add up to ProfileStep.
 */
#include "facts/step_parts.h"
#include "tables/step_sums.h"
#include "tables/tables.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_STEP, ROW_DATALOADER, ROW_FORWARD, ROW_BACKWARD, ROW_OPTIMIZATION, ROW_OTHERS, ROW_COUNT };

typedef struct cells {
  int64_t cpu[ROW_COUNT], gpu[ROW_COUNT];
} cells;
enum { CELLS_EACH = sizeof(cells) / sizeof(int64_t) };

/* The outermost ranges of a part; a loader thread's work is not the loop's wait. */
static bool part_intervals(const trace_facts *facts, intervals *parts) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    pd_part part = range->kind == PD_RANGE_DATALOADER ? PD_PART_DATALOADER : range->part;
    if (part == PD_PART_NONE || part > PD_PART_OPTIMIZATION || range->kind == PD_RANGE_WORKER) continue;
    if (range->parent < i && facts_range(facts, range->parent)->part == part) continue;
    ok = intervals_add(&parts[part], range->start_ns, range->end_ns);
  }
  for (uint32_t p = 0; ok && p <= PD_PART_OPTIMIZATION; p++) ok = intervals_merge(&parts[p]);
  return ok;
}

/* Parts on different threads may overlap: a moment belongs to the first of them in the table's order. */
static bool divide_steps(const trace_facts *facts, cells *steps) {
  intervals parts[PD_PART_OPTIMIZATION + 1], covered = {0}, alone = {0}, next = {0};
  bool ok;
  memset(parts, 0, sizeof parts);
  ok = part_intervals(facts, parts);
  for (uint32_t p = PD_PART_DATALOADER; ok && p <= PD_PART_OPTIMIZATION; p++) {
    intervals spare = covered;
    if (!parts[p].count) continue;
    ok = intervals_subtract(&parts[p], &covered, &alone) && intervals_union(&covered, &parts[p], &next);
    step_parts_add(facts, &alone, &steps->cpu[ROW_DATALOADER + p - PD_PART_DATALOADER], CELLS_EACH);
    covered = next;
    next = spare;
  }
  for (uint32_t p = 0; p <= PD_PART_OPTIMIZATION; p++) intervals_free(&parts[p]);
  intervals_free(&covered);
  intervals_free(&alone);
  intervals_free(&next);
  return ok;
}

static void add_device(const trace_facts *facts, cells *steps) {
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    pd_part part = row->range < facts->range_count ? facts_range(facts, row->range)->part : PD_PART_NONE;
    int64_t span = facts_span(row->start_ns, row->end_ns);
    uint32_t at =
        part > PD_PART_NONE && part <= PD_PART_OPTIMIZATION ? ROW_DATALOADER + part - PD_PART_DATALOADER : ROW_OTHERS;
    if (row->step >= facts->step_count) continue;
    steps[row->step].gpu[at] += span;
    steps[row->step].gpu[ROW_STEP] += span;
  }
}

static void put_row(table_build *table, const trace_facts *facts, const cells *steps, uint32_t row, bool device) {
  static const metric_id names[ROW_COUNT] = {M_model_step,     M_model_dataloader,   M_model_forward,
                                             M_model_backward, M_model_optimization, M_model_others};
  int64_t totals[2] = {0}, wholes[2] = {0}, most[2] = {0}, least[2] = {0};
  int64_t count = facts->step_count ? (int64_t)facts->step_count : 1;
  for (uint64_t s = 0; s < facts->step_count; s++) {
    const int64_t values[2] = {steps[s].cpu[row], steps[s].gpu[row]};
    wholes[0] += steps[s].cpu[ROW_STEP];
    wholes[1] += steps[s].gpu[ROW_STEP];
    for (int side = 0; side < 2; side++) {
      totals[side] += values[side];
      if (values[side] > most[side]) most[side] = values[side];
      if (!s || values[side] < least[side]) least[side] = values[side];
    }
  }
  table_row(table, 0);
  table_string(table, M_name, registry_metric(names[row], false)->heading);
  table_int(table, M_calls, (int64_t)facts->step_count);
  table_int(table, M_cpu_total, totals[0]);
  table_int(table, M_cpu_avg, totals[0] / count);
  table_int(table, M_cpu_max, most[0]);
  table_int(table, M_cpu_min, least[0]);
  table_percent(table, M_cpu_ratio, totals[0], wholes[0]);
  if (!device) return;
  table_int(table, M_gpu_total, totals[1]);
  table_int(table, M_gpu_avg, totals[1] / count);
  table_int(table, M_gpu_max, most[1]);
  table_int(table, M_gpu_min, least[1]);
  table_percent(table, M_gpu_ratio, totals[1], wholes[1]);
}

/* How many digits the row's figures carry follows from how they vary from step to step. */
static void put_digits(table_build *table, const trace_facts *facts, const cells *steps, uint32_t row, bool device) {
  static const metric_id figures[2][5] = {{M_cpu_total, M_cpu_avg, M_cpu_max, M_cpu_min, M_cpu_ratio},
                                          {M_gpu_total, M_gpu_avg, M_gpu_max, M_gpu_min, M_gpu_ratio}};
  for (int side = 0; side < (device ? 2 : 1); side++) {
    const int64_t *values = side ? steps->gpu + row : steps->cpu + row;
    const uint32_t digits = step_digits(table, facts, values, sizeof *steps / sizeof *values);
    for (uint32_t i = 0; i < 5; i++)
      if (row != ROW_STEP || figures[side][i] != (side ? M_gpu_ratio : M_cpu_ratio))
        table_digits(table, figures[side][i], digits);
  }
}

const pd_table *model_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  const bool device = facts->trace->profile == PD_PROFILE_FULL;
  cells *steps = calloc(facts->step_count + 1, sizeof *steps);
  table_build table;
  if (!steps || !divide_steps(facts, steps)) {
    free(steps);
    work->arena->failed = true;
    return NULL;
  }
  add_device(facts, steps);
  for (uint64_t s = 0; s < facts->step_count; s++) {
    steps[s].cpu[ROW_STEP] = facts_span(facts_step(facts, s)->start_ns, facts_step(facts, s)->end_ns);
    steps[s].cpu[ROW_OTHERS] = steps[s].cpu[ROW_STEP];
    for (uint32_t r = ROW_DATALOADER; r < ROW_OTHERS; r++) steps[s].cpu[ROW_OTHERS] -= steps[s].cpu[r];
  }
  table_begin(
      &table, work->arena, work->is_cuda, "model", "Model Summary",
      "Calls are steps: averages and extremes are per step, and the rows add up to ProfileStep; ratios are of it. "
      "Device time is the sum over what was launched in the part, wherever and whenever it ran.");
  if (!device) table_without_device(&table, facts->trace->profile_note);
  TABLE_COLUMNS(&table, M_name, M_calls, M_cpu_total, M_cpu_avg, M_cpu_max, M_cpu_min, M_cpu_ratio, M_gpu_total,
                M_gpu_avg, M_gpu_max, M_gpu_min, M_gpu_ratio);
  for (uint32_t r = 0; r < ROW_COUNT; r++) {
    put_row(&table, facts, steps, r, device);
    put_digits(&table, facts, steps, r, device);
  }
  free(steps);
  return table_done(&table);
}
