/* Figures that add up one value per step: shown with as many digits as the steps' spread supports. */
#ifndef CORE_TABLES_STEP_SUMS_H
#define CORE_TABLES_STEP_SUMS_H

#include "table_build.h"
#include "facts/facts.h"

/* The digits for figures of `values`: nanoseconds, one per step, `stride` values apart. */
uint32_t step_digits(table_build *table, const trace_facts *facts, const int64_t *values, uint64_t stride);

/* Cells total, per_step and share of the row begun last, over such values; NULL: the spans of the steps. */
void step_sum_cells(table_build *table, const trace_facts *facts, const int64_t *values, uint64_t stride);

/* Every cell of the columns, whose rows are one step each, gets the digits of its column's spread. */
void step_column_digits(table_build *table, const metric_id *ids, uint64_t count);

#endif
