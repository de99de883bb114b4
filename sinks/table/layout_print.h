/* A table whose columns are chosen: its lines. See layout.h. */
#ifndef SINKS_TABLE_LAYOUT_PRINT_H
#define SINKS_TABLE_LAYOUT_PRINT_H

#include "cells.h"
#include "layout.h"

enum { GAP = 2, CELL_ROOM = 48, NAME_MIN = 16, SHARED_TEXT_MIN = 24, TEXT_MIN = 8, TEXT_MAX = 80, HEADING_LINES = 8 };

typedef struct shown_column {
  size_t width;
  uint32_t index;    /* in the table */
  uint32_t decimals; /* of its times, where they all have the same; else PD_NONE */
  cell_time unit;    /* of its times */
  bool is_text;
  bool is_stack; /* its last frame tells most: cut from the left, whole with `wide` */
} shown_column;

typedef struct layout {
  const pd_table *table;
  const layout_options *options;
  shown_column *columns;
  uint32_t count, hidden;
  uint64_t row_count; /* shown */
} layout;

/* The n-th line of a heading: its words, but "# of" and signs stay with what they belong to. Returns its length. */
size_t layout_heading_line(const char *heading, uint32_t line, const char **at);
/* A cell as it is printed, in `room` where it is not the table's own text. */
const char *layout_cell_text(const layout *self, const shown_column *column, const pd_table_row *row, char *room,
                             size_t room_bytes);
/* Headings, rows and footer between rules. */
void layout_print(const layout *self, text *out);

#endif
