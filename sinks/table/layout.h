/* A table as aligned text: within a number of columns, or as wide as it is. */
#ifndef SINKS_TABLE_LAYOUT_H
#define SINKS_TABLE_LAYOUT_H

#include "cells.h"
#include "text.h"

/* Where nothing else is asked for, and the narrowest there is. */
enum { LAYOUT_COLUMNS = 80, LAYOUT_LEAST_COLUMNS = 60 };

typedef struct layout_options {
  cell_time unit;
  size_t columns; /* of the text; without `wide` no line is longer */
  bool wide;
  int64_t row_limit;       /* outermost rows; -1: all */
  size_t max_name_columns; /* of the first column */
  const char *sort_key;    /* key of the metric that the rows are sorted by, which is always shown; NULL: none is */
} layout_options;

void layout_table(text *out, const pd_table *table, const layout_options *options);

#endif
