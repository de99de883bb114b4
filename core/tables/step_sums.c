/* See step_sums.h. */
#include "step_sums.h"

#include "base/stats.h"

#include <stdlib.h>

static double *take(table_build *table, uint64_t count) {
  double *values = malloc((count + 1) * sizeof *values);
  if (!values) table->arena->failed = true;
  return values;
}

static int64_t value_of(const trace_facts *facts, const int64_t *values, uint64_t stride, uint64_t step) {
  return values ? values[step * stride]
                : facts_span(facts_step(facts, step)->start_ns, facts_step(facts, step)->end_ns);
}

uint32_t step_digits(table_build *table, const trace_facts *facts, const int64_t *values, uint64_t stride) {
  double *sorted = take(table, facts->step_count);
  if (!sorted) return 0;
  for (uint64_t s = 0; s < facts->step_count; s++) sorted[s] = (double)value_of(facts, values, stride, s) * 1e-9;
  const uint32_t digits = stats_digits(sorted, facts->step_count);
  free(sorted);
  return digits;
}

void step_sum_cells(table_build *table, const trace_facts *facts, const int64_t *values, uint64_t stride) {
  const uint32_t digits = step_digits(table, facts, values, stride);
  int64_t total = 0;
  for (uint64_t s = 0; s < facts->step_count; s++) total += value_of(facts, values, stride, s);
  table_int(table, M_total, total);
  table_int(table, M_per_step, facts->step_count ? total / (int64_t)facts->step_count : total);
  table_percent(table, M_share, total, facts->steps_ns);
  table_digits(table, M_total, digits);
  table_digits(table, M_per_step, digits);
  if (values) table_digits(table, M_share, digits); /* all of the steps is 100 % exactly */
}

void step_column_digits(table_build *table, const metric_id *ids, uint64_t count) {
  const uint64_t rows = table->arena->failed ? 0 : table->table->rows.count;
  double *sorted = take(table, rows);
  for (uint64_t i = 0; sorted && i < count && rows; i++) {
    const uint32_t column = table->column_of[ids[i]];
    uint64_t used = 0;
    if (!column) continue;
    for (uint64_t row = 0; row < rows; row++) {
      const pd_cell *cell = &table->rows[row].cells[column - 1];
      if (!cell->missing) sorted[used++] = (double)cell->v.i * 1e-9;
    }
    const uint32_t digits = stats_digits(sorted, used);
    for (uint64_t row = 0; row < rows; row++) table_digits_at(table, row, ids[i], digits);
  }
  free(sorted);
}
