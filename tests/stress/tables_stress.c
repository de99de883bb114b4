/* The tables of a window of many rows, which two threads make, beside those that look for its gains: each time the
 * same number of tables and rows. */
#include "big_tables.h"
#include "big_trace.h"

#include <stdio.h>

enum { STEPS = 20, ROUNDS = 3, ROWS_LEAST = 100000 /* from which on there are two threads (tables.c) */ };

/* Rows of all tables; 0 on no memory. */
static uint64_t rows_of(const pd_trace *trace) {
  analysis *of;
  if (big_tables_open(&of) != PD_OK) return 0;
  const pd_analysis *table = analysis_table(of);
  table->prepare(table, trace);
  const pd_table_set *set = table->tables(table, trace, NULL);
  uint64_t rows = 0;
  for (uint32_t t = 0; set && t < set->count; t++) rows += 1 + set->tables[t]->rows.count;
  analysis_close(of);
  return rows;
}

int main(void) {
  big_trace big;
  uint64_t first = 0;
  if (!big_trace_open(&big, STEPS)) {
    fprintf(stderr, "out of memory\n");
    return 1;
  }
  if (big.trace.ranges.count + big.trace.activities.count < ROWS_LEAST) {
    fprintf(stderr, "too few rows for two threads\n");
    return 1;
  }
  for (int i = 0; i < ROUNDS; i++) {
    const uint64_t rows = rows_of(&big.trace);
    if (!first) first = rows;
    if (!rows || rows != first) {
      fprintf(stderr, "tables: %llu rows, and %llu at first\n", (unsigned long long)rows, (unsigned long long)first);
      return 1;
    }
  }
  big_trace_close(&big);
  return 0;
}
