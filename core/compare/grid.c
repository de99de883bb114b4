/* See grid.h. */
#include "grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const char *text) { return text ? text : ""; }

static grid_row row_of(const sample *at) {
  return (grid_row){.threads = at->of->threads, .env = text_of(at->of->env), .name = sample_row_name(at)};
}

static bool same_row(const grid_row *a, const grid_row *b) {
  return a->threads == b->threads && samples_same_text(a->env, b->env) && samples_same_text(a->name, b->name);
}

/* Whether a label's samples name one task in several files, so that the files have to be told apart. */
static bool needs_files(const samples *from, const char *label) {
  for (uint32_t i = 0; i < from->count; i++) {
    const grid_row row = row_of(&from->all[i]);
    for (uint32_t k = 0; k < i; k++) {
      const grid_row other = row_of(&from->all[k]);
      if (from->all[i].file != from->all[k].file && strcmp(sample_label(&from->all[k]), label) == 0 &&
          strcmp(sample_label(&from->all[i]), label) == 0 && same_row(&row, &other) &&
          samples_same_text(from->all[i].of->description, from->all[k].of->description))
        return true;
    }
  }
  return false;
}

static uint32_t find_row(grid *self, const sample *at) {
  const grid_row row = row_of(at);
  for (uint32_t i = 0; i < self->row_count; i++)
    if (same_row(&self->rows[i], &row)) return i;
  return self->row_count;
}

static uint32_t find_column(const grid *self, const sample *at, bool files) {
  for (uint32_t i = 0; i < self->column_count; i++)
    if (samples_same_text(self->columns[i].description, at->of->description) &&
        (!files || self->columns[i].file == at->file))
      return i;
  return self->column_count;
}

static bool add_column(grid *self, const samples *from, const sample *at, bool files) {
  grid_column *column = &self->columns[self->column_count];
  const char *description = text_of(at->of->description);
  *column = (grid_column){.description = description, .file = at->file};
  if (!files)
    column->name = strdup(description);
  else if (!description[0])
    column->name = strdup(from->names[at->file]);
  else if (asprintf(&column->name, "%s (%s)", description, from->names[at->file]) < 0)
    column->name = NULL;
  if (!column->name) return false;
  self->column_count++;
  return true;
}

/* By threads and env; a stable sort, so that names stay in their order. */
static void add_row(grid *self, const sample *at) {
  const grid_row row = row_of(at);
  uint32_t to = self->row_count;
  while (to && (self->rows[to - 1].threads > row.threads ||
                (self->rows[to - 1].threads == row.threads && strcmp(text_of(self->rows[to - 1].env), row.env) > 0))) {
    self->rows[to] = self->rows[to - 1];
    to--;
  }
  self->rows[to] = row;
  self->row_count++;
}

static bool lay_out(grid *self, const samples *from) {
  const bool files = needs_files(from, self->label);
  double least = INFINITY;
  self->rows = calloc(from->count, sizeof *self->rows);
  self->columns = calloc(from->count, sizeof *self->columns);
  if (!self->rows || !self->columns) return false;
  for (uint32_t i = 0; i < from->count; i++) {
    const sample *at = &from->all[i];
    if (strcmp(sample_label(at), self->label) != 0) continue;
    if (find_column(self, at, files) == self->column_count && !add_column(self, from, at, files)) return false;
    if (find_row(self, at) == self->row_count) add_row(self, at);
    least = fmin(least, at->figures.median);
  }
  self->unit = statistics_unit(least);
  self->cells = calloc((size_t)self->row_count * self->column_count, sizeof(void *));
  if (!self->cells) return false;
  for (uint32_t i = 0; i < from->count; i++) {
    const sample *at = &from->all[i];
    if (strcmp(sample_label(at), self->label) != 0) continue;
    self->cells[(size_t)find_row(self, at) * self->column_count + find_column(self, at, files)] = at;
  }
  for (uint32_t i = 1; i < self->row_count; i++)
    self->shows_env = self->shows_env || !samples_same_text(self->rows[i].env, self->rows[0].env);
  return true;
}

bool grids_make(const samples *from, grids *out) {
  *out = (grids){.all = calloc(from->count ? from->count : 1, sizeof *out->all)};
  bool ok = out->all != NULL;
  for (uint32_t i = 0; i < from->count && ok; i++) {
    const char *label = sample_label(&from->all[i]);
    uint32_t at = 0;
    while (at < out->count && strcmp(out->all[at].label, label) != 0) at++;
    if (at < out->count) continue;
    out->all[out->count] = (grid){.label = label, .in_order = from->in_order};
    ok = lay_out(&out->all[out->count++], from);
  }
  if (!ok) grids_free(out);
  return ok;
}

void grids_free(grids *self) {
  for (uint32_t i = 0; i < self->count; i++) {
    grid *at = &self->all[i];
    for (uint32_t k = 0; k < at->column_count; k++) free(at->columns[k].name);
    free(at->columns);
    free(at->rows);
    free(at->cells);
  }
  free(self->all);
  *self = (grids){.all = NULL};
}

double grid_best(const grid *self, uint32_t row) {
  double best = 0;
  uint32_t count = 0;
  for (uint32_t other = 0; other < self->row_count; other++) {
    if (self->column_count > 1 ? other != row : self->rows[other].threads != self->rows[row].threads) continue;
    for (uint32_t i = 0; i < self->column_count; i++) {
      const sample *cell = self->cells[(size_t)other * self->column_count + i];
      if (cell && (!count++ || cell->figures.median < best)) best = cell->figures.median;
    }
  }
  return count > 1 ? best : 0;
}
