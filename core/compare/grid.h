/* Samples laid out as torch.utils.benchmark.Compare does: a table per label, a row per threads, env and sub_label, a
 * column per description. Samples of one task from several files get a column per file. [any thread] */
#ifndef CORE_COMPARE_GRID_H
#define CORE_COMPARE_GRID_H

#include "samples.h"

typedef struct grid_row {
  uint64_t threads;
  const char *env, *name; /* borrowed; env is "" where there is none */
} grid_row;

typedef struct grid_column {
  char *name;              /* description, file, or both */
  const char *description; /* borrowed */
  uint32_t file;
  uint32_t reserved;
} grid_column;

typedef struct grid {
  const char *label; /* borrowed */
  grid_row *rows;
  grid_column *columns;
  const sample **cells; /* row by row; NULL: not measured */
  uint32_t row_count, column_count;
  bool shows_env; /* its rows are from more than one */
  bool in_order;  /* the samples' digits show their order, and so has what is printed of them */
  time_unit unit; /* of the smallest median */
} grid;

typedef struct grids {
  grid *all;
  uint32_t count;
} grids;

/* In the order of the samples; rows by threads and env, then in their order. False on no memory. */
bool grids_make(const samples *from, grids *out);
void grids_free(grids *self);

/* The smallest median of the row; with a single column, that of the rows with the same number of threads. 0 where
 * there is nothing to compare it with. */
double grid_best(const grid *self, uint32_t row);

#endif
