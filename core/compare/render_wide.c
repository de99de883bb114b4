/* Every figure of every cell; see render.h. */
#include "render.h"

#include "base/text_width.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FIGURES = 8, NUMBER_WIDTH = 9, COUNT_WIDTH = 16 };
static const char *const names[FIGURES] = {"median", "mean", "MAD", "IQR", "p90", "p99", "min", "max"};

static void figures_of(const sample *cell, double unit_s, double values[FIGURES]) {
  const statistics *of = &cell->figures;
  const double all[FIGURES] = {of->median, of->mean, of->mad, of->iqr, of->p90, of->p99, of->min, of->max};
  for (int i = 0; i < FIGURES; i++) values[i] = all[i] / unit_s;
}

/* "[64, 512], bmm, 4 threads (new)"; to be freed. NULL on no memory. */
static char *cell_name(const grid *self, uint32_t row, uint32_t column) {
  const grid_row *at = &self->rows[row];
  const char *what = self->columns[column].name;
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  fprintf(out, "%s%s%s", at->name, what[0] ? ", " : "", what);
  if (at->threads > 1) fprintf(out, ", %" PRIu64 " threads", at->threads);
  if (self->shows_env) fprintf(out, " (%s)", at->env);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

static const sample *cell_at(const grid *self, uint32_t row, uint32_t column) {
  return self->cells[(size_t)row * self->column_count + column];
}

static bool has_instructions(const grid *self) {
  for (uint32_t i = 0; i < self->row_count * self->column_count; i++)
    if (self->cells[i] && self->cells[i]->instructions) return true;
  return false;
}

/* Instructions of a step; "" where they were not counted. */
static const char *instructions_of(const sample *cell, char text[32]) {
  instruction_figures step;
  text[0] = '\0';
  if (!cell->instructions) return text;
  instructions_figures(cell->instructions, &step);
  return instructions_text(step.median, text);
}

static void write_text(const grid *self, char *const *cells, FILE *out) {
  const bool counted = has_instructions(self);
  int width = 0;
  for (uint32_t i = 0; i < self->row_count * self->column_count; i++)
    if (text_width(cells[i]) > width) width = text_width(cells[i]);
  fprintf(out, "\n  %-*s", width, "");
  for (int i = 0; i < FIGURES; i++) fprintf(out, " %*s", NUMBER_WIDTH, names[i]);
  if (counted) fprintf(out, " %*s", COUNT_WIDTH, "instructions");
  fprintf(out, " %*s  (%s)\n", NUMBER_WIDTH, "blocks", self->unit.symbol);
  for (uint32_t i = 0; i < self->row_count * self->column_count; i++) {
    const sample *cell = cell_at(self, i / self->column_count, i % self->column_count);
    double values[FIGURES];
    char text[32];
    if (!cell) continue;
    figures_of(cell, self->unit.s, values);
    fprintf(out, "  %s%*s", cells[i], width - text_width(cells[i]), "");
    for (int k = 0; k < FIGURES; k++) fprintf(out, " %*.4g", NUMBER_WIDTH, values[k]);
    if (counted) fprintf(out, " %*s", COUNT_WIDTH, instructions_of(cell, text));
    fprintf(out, " %*" PRIu64 "\n", NUMBER_WIDTH, cell->figures.count);
  }
}

static void write_markdown(const grid *self, char *const *cells, FILE *out) {
  const bool counted = has_instructions(self);
  fprintf(out, "\n| (%s) |", self->unit.symbol);
  for (int i = 0; i < FIGURES; i++) fprintf(out, " %s |", names[i]);
  fprintf(out, "%s blocks |\n| --- |", counted ? " instructions |" : "");
  for (int i = 0; i < FIGURES + 1 + counted; i++) fputs(" ---: |", out);
  fputc('\n', out);
  for (uint32_t i = 0; i < self->row_count * self->column_count; i++) {
    const sample *cell = cell_at(self, i / self->column_count, i % self->column_count);
    double values[FIGURES];
    char text[32];
    if (!cell) continue;
    figures_of(cell, self->unit.s, values);
    fputs("| ", out);
    render_markdown_text(cells[i], out);
    fputs(" |", out);
    for (int k = 0; k < FIGURES; k++) fprintf(out, " %.4g |", values[k]);
    if (counted) fprintf(out, " %s |", instructions_of(cell, text));
    fprintf(out, " %" PRIu64 " |\n", cell->figures.count);
  }
}

bool render_wide(const grid *self, bool markdown, FILE *out) {
  const uint32_t count = self->row_count * self->column_count;
  char **cells = calloc(count ? count : 1, sizeof *cells);
  bool ok = cells != NULL;
  for (uint32_t i = 0; i < count && ok; i++) {
    cells[i] = cell_name(self, i / self->column_count, i % self->column_count);
    ok = cells[i] != NULL;
  }
  if (ok && markdown)
    write_markdown(self, cells, out);
  else if (ok)
    write_text(self, cells, out);
  for (uint32_t i = 0; i < count && cells; i++) free(cells[i]);
  free(cells);
  return ok;
}
