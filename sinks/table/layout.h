/* A table as aligned text: within 80 columns, or as wide as it is. */
#ifndef SINKS_TABLE_LAYOUT_H
#define SINKS_TABLE_LAYOUT_H

#include "cells.h"
#include "text.h"

enum { LAYOUT_COLUMNS = 80 };

typedef struct layout_options {
  cell_time unit;
  bool wide;
  int64_t row_limit;       /* outermost rows; -1: all */
  size_t max_name_columns; /* of the first column */
  const char *sort_key;    /* key of the metric that the rows are sorted by, which is always shown; NULL: none is */
} layout_options;

/* The only row of a table as a list of headings and values (PD_ROW_RECORD). */
void layout_record(text *out, const pd_table *table, const layout_options *options);
void layout_table(text *out, const pd_table *table, const layout_options *options);

#endif
