/*
 * See layout.h. Headings take as many lines as they have words, so that a column is as narrow as its figures. Without
 * `wide` the columns of PD_METRIC_WIDE are left out, then figures that can be done without, and texts are cut; what
 * room is left then is filled with those of the former that say something. The column that the rows are sorted by
 * stays. The table says how many columns are missing.
 */
#include "layout_print.h"

#include <pdhost/text_columns.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column that the room left over may be given to. */
typedef struct candidate {
  double weight;
  uint32_t index;
} candidate;

static void grow(layout *self, shown_column *column, const pd_table_row *row) {
  char room[CELL_ROOM];
  const char *string = layout_cell_text(self, column, row, room, sizeof room);
  size_t width = pd_text_columns(string, strlen(string)) + (column->index == 0 ? 2 * row->level : 0);
  if (width > column->width) column->width = width;
}

/* One unit for a column of times, that of the largest row where none was asked for, and one number of decimals, with
 * which the least figure still says something; PD_NONE where the figures have digits of their own. */
static void choose_unit(const layout *self, shown_column *column) {
  const pd_table *table = self->table;
  const uint32_t index = column->index;
  int64_t least = INT64_MAX, most = 0;
  column->decimals = PD_NONE;
  if (table->columns[index]->unit != PD_UNIT_NS) return;
  for (uint64_t i = 0; i < table->rows.count + (table->footer != NULL); i++) {
    const pd_table_row *row = i < table->rows.count ? PD_AT(pd_table_row, &table->rows, i) : table->footer;
    const pd_cell *cell = &row->cells[index];
    if (pd_table_digits(table, i, index)) return;
    if (cell->missing || (i >= self->row_count && row != table->footer)) continue;
    if (cell->v.i > 0 && cell->v.i < least) least = cell->v.i;
    if (row != table->footer && llabs(cell->v.i) > most) most = llabs(cell->v.i);
  }
  column->unit = self->options->unit == CELL_AUTO ? cell_time_for(most) : self->options->unit;
  column->decimals = cell_time_decimals(column->unit, least < INT64_MAX ? least : 0);
}

static void measure(layout *self, shown_column *column) {
  const pd_metric *metric = self->table->columns[column->index];
  choose_unit(self, column);
  const char *at;
  size_t limit = column->index == 0 ? self->options->max_name_columns : TEXT_MAX;
  column->is_stack = !strcmp(metric->key, "stack");
  if (column->is_stack && self->options->wide) limit = SIZE_MAX;
  for (uint32_t line = 0; line < HEADING_LINES; line++) {
    size_t length = layout_heading_line(metric->heading, line, &at), width = pd_text_columns(at, length);
    if (width > column->width) column->width = width;
    if (!length) break;
  }
  for (uint64_t i = 0; i < self->row_count; i++) grow(self, column, PD_AT(pd_table_row, &self->table->rows, i));
  if (self->table->footer) grow(self, column, self->table->footer);
  if (column->is_text && column->width > limit) column->width = limit;
}

static size_t total_width(const layout *self) {
  size_t total = 0;
  for (uint32_t c = 0; c < self->count; c++) total += self->columns[c].width + (c ? GAP : 0);
  return total;
}

/* Texts have to stay readable: two of them (a name and what the rows are grouped by) want more room than one. */
static size_t least_text(const layout *self) {
  uint32_t texts = 0;
  for (uint32_t c = 0; c < self->count; c++) texts += self->columns[c].is_text;
  return texts > 1 ? SHARED_TEXT_MIN : NAME_MIN;
}

/* Whether the rows are in this column's order. */
static bool is_sorted_by(const layout *self, const pd_metric *metric) {
  return self->options->sort_key && !strcmp(metric->key, self->options->sort_key);
}

/* The column to do without: totals first, since a self time can be read alone, then figures from the right; as a
 * `last_resort` counts, and texts but the first. Never what the rows are sorted by. PD_NONE: none is left. */
static uint32_t dispensable(const layout *self, bool last_resort) {
  uint32_t last = PD_NONE, rest = PD_NONE;
  for (uint32_t c = self->count; c-- > 1;) {
    const pd_metric *metric = self->table->columns[self->columns[c].index];
    if (is_sorted_by(self, metric)) continue;
    if (self->columns[c].is_text || metric->unit == PD_UNIT_COUNT) {
      if (rest == PD_NONE) rest = c;
      continue;
    }
    if (strncmp(metric->key, "self", 4) != 0 && strstr(metric->key, "time_total")) return c;
    if (last == PD_NONE) last = c;
  }
  return last == PD_NONE && last_resort ? rest : last;
}

static void leave_out(layout *self, uint32_t at) {
  self->count--;
  self->hidden++;
  memmove(&self->columns[at], &self->columns[at + 1], (self->count - at) * sizeof *self->columns);
}

/* Leaves out what cannot fit, then cuts the texts, the widest first. */
static void fit(layout *self) {
  const size_t least = least_text(self);
  for (;;) {
    size_t total = total_width(self);
    uint32_t at;
    for (uint32_t c = 0; c < self->count; c++)
      if (self->columns[c].is_text && self->columns[c].width > least) total -= self->columns[c].width - least;
    if (total <= self->options->columns) break;
    at = dispensable(self, false);
    if (at == PD_NONE) break;
    leave_out(self, at);
  }
  while (total_width(self) > self->options->columns) {
    shown_column *widest = NULL;
    for (uint32_t c = 0; c < self->count; c++) {
      shown_column *column = &self->columns[c];
      if (column->is_text && column->width > TEXT_MIN && (!widest || column->width > widest->width)) widest = column;
    }
    const uint32_t at = widest ? PD_NONE : dispensable(self, true);
    if (!widest && at == PD_NONE) return;
    if (widest)
      widest->width--;
    else
      leave_out(self, at);
  }
}

/* How much the figures of a column add up to; bytes come before all else, since no other column tells of them. */
static double weight_of(const layout *self, uint32_t index) {
  const pd_metric *metric = self->table->columns[index];
  double sum = 0;
  for (uint64_t i = 0; i < self->row_count; i++) {
    const pd_cell *cell = &PD_AT(pd_table_row, &self->table->rows, i)->cells[index];
    if (!cell->missing) sum += fabs(cell->is_double ? cell->v.d : (double)cell->v.i);
  }
  return sum > 0 && metric->unit == PD_UNIT_BYTES ? DBL_MAX : sum;
}

/* Heaviest first; equal ones in the order of the table. */
static int by_weight(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->weight < y->weight || x->weight > y->weight) return x->weight > y->weight ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Gives the room that is left to columns of PD_METRIC_WIDE that say something: for a table of steps to its largest
 * classes of time, for any other in the table's order. */
static void fill(layout *self, candidate *candidates) {
  const bool has_names = self->count && self->columns[0].is_text;
  uint32_t found = 0;
  for (uint32_t c = 0; c < self->table->column_count; c++) {
    const pd_metric *metric = self->table->columns[c];
    if (!(metric->flags & PD_METRIC_WIDE) || metric->unit == PD_UNIT_TEXT || is_sorted_by(self, metric)) continue;
    const double weight = weight_of(self, c);
    if (weight > 0) candidates[found++] = (candidate){weight < DBL_MAX && has_names ? 1 : weight, c};
  }
  qsort(candidates, found, sizeof *candidates, by_weight);
  for (uint32_t i = 0; i < found; i++) {
    shown_column column = {.index = candidates[i].index};
    uint32_t at = self->count;
    measure(self, &column);
    if (total_width(self) + GAP + column.width > self->options->columns) continue;
    while (at > 0 && self->columns[at - 1].index > column.index) at--;
    memmove(&self->columns[at + 1], &self->columns[at], (self->count - at) * sizeof *self->columns);
    self->columns[at] = column;
    self->count++;
    self->hidden--;
  }
}

/* How many rows come before the outermost row number `limit`, and how many outermost ones are left out. */
static uint64_t rows_within(const pd_table *table, int64_t limit, uint64_t *left_out) {
  uint64_t shown = table->rows.count;
  int64_t outermost = 0;
  for (uint64_t i = 0; i < table->rows.count; i++) {
    if (PD_AT(pd_table_row, &table->rows, i)->level) continue;
    if (outermost++ == limit) shown = i;
  }
  *left_out = limit >= 0 && outermost > limit ? (uint64_t)(outermost - limit) : 0;
  return shown;
}

void layout_table(text *out, const pd_table *table, const layout_options *options) {
  layout self = {.table = table, .options = options};
  uint64_t left_out;
  bool has_time = false;
  candidate *candidates = calloc(table->column_count + 1u, sizeof *candidates);
  self.columns = calloc(table->column_count + 1u, sizeof *self.columns);
  if (!self.columns || !candidates) {
    free(candidates);
    free(self.columns);
    out->failed = true;
    return;
  }
  self.row_count = rows_within(table, options->row_limit, &left_out);
  for (uint32_t c = 0; c < table->column_count; c++) {
    const pd_metric *metric = table->columns[c];
    if (metric->flags & PD_METRIC_DETAIL) continue;
    if ((metric->flags & PD_METRIC_WIDE) && !options->wide && !is_sorted_by(&self, metric)) {
      self.hidden++;
      continue;
    }
    self.columns[self.count] = (shown_column){.index = c, .is_text = metric->unit == PD_UNIT_TEXT};
    measure(&self, &self.columns[self.count++]);
    has_time = has_time || metric->unit == PD_UNIT_NS;
  }
  if (!options->wide) {
    fit(&self);
    fill(&self, candidates);
  }
  text_bold(out, table->title);
  if (has_time && options->unit != CELL_AUTO) text_format(out, "   (time unit: %s)", cell_time_name(options->unit));
  text_add(out, "\n");
  layout_print(&self, out);
  if (left_out) text_format(out, "%llu more rows: row_limit = -1 shows all\n", (unsigned long long)left_out);
  if (self.hidden)
    text_format(out, "%u more column%s: wide = true shows all\n", self.hidden, self.hidden == 1 ? "" : "s");
  if (table->note) {
    if (out->colour) text_add(out, "\033[2m");
    text_wrap(out, table->note, options->columns, 0);
    if (out->colour) text_add(out, "\033[0m");
  }
  text_add(out, "\n");
  free(candidates);
  free(self.columns);
}
