/*
 * Building one table: first the columns, then row by row. Cells are set by metric; a metric that the table has no
 * column for is left out, so that a builder need not know which columns the run asked for.
 */
#ifndef CORE_TABLES_TABLE_BUILD_H
#define CORE_TABLES_TABLE_BUILD_H

#include "registry.h"
#include "base/arena.h"

typedef struct table_build {
  arena *arena;
  pd_table *table;
  const pd_metric **columns;
  pd_table_row *rows;
  uint8_t *digits; /* as pd_table has them, for `room` rows and the footer */
  uint64_t room;
  pd_cell *cells;                  /* of the row that is being filled; NULL after a failure */
  uint8_t column_of[METRIC_COUNT]; /* column + 1, 0: none */
  bool is_cuda;
} table_build;

void table_begin(table_build *build, arena *pool, bool is_cuda, const char *id, const char *title, const char *note);
/* Adds a sentence to the note. */
void table_note(table_build *build, const char *sentence);
/* Adds to the note that device records are missing, and why (NULL: not known). */
void table_without_device(table_build *build, const char *why);
void table_column(table_build *build, metric_id id);
void table_columns(table_build *build, const metric_id *ids, uint64_t count);
#define TABLE_COLUMNS(build, ...)                                                                                      \
  table_columns((build), (const metric_id[]){__VA_ARGS__}, sizeof((const metric_id[]){__VA_ARGS__}) / sizeof(metric_id))

/* The row that the setters below fill; all cells are missing at first. */
void table_row(table_build *build, uint32_t level);
/* Sets the flags of the row begun last: PD_ROW_*. */
void table_row_flags(table_build *build, uint32_t flags);
/* The same for the footer. */
void table_footer(table_build *build, const char *label);
void table_int(table_build *build, metric_id id, int64_t value);
/* Not finite: stays missing. */
void table_double(table_build *build, metric_id id, double value);
/* `text` is the arena's, the trace's or static. */
void table_string(table_build *build, metric_id id, const char *text);
/* 100 * part / whole; missing where `whole` is 0. */
void table_percent(table_build *build, metric_id id, int64_t part, int64_t whole);
/* In the row or footer begun last: the digits that the figure's spread supports. */
void table_digits(table_build *build, metric_id id, uint32_t digits);
/* The same in an earlier row. */
void table_digits_at(table_build *build, uint64_t row, metric_id id, uint32_t digits);
/* "15.7 ms", for a sentence of a table. */
const char *table_time_text(arena *memory, double ns);
/* NULL on no memory. */
const pd_table *table_done(table_build *build);

#endif
