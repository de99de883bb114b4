/* Markdown and CSV; see render.h. */
#include "render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const sample *cell_at(const grid *self, uint32_t row, uint32_t column) {
  return self->cells[(size_t)row * self->column_count + column];
}

void render_markdown_text(const char *text, FILE *out) {
  for (; *text; text++) {
    if (*text == '|') fputc('\\', out);
    fputc(*text == '\n' ? ' ' : *text, out);
  }
}

static void markdown_cell(const grid *self, const sample *cell, double best, FILE *out) {
  if (!cell) {
    fputs("  |", out);
    return;
  }
  const double value = cell->figures.median / self->unit.s;
  const int leading = value > 0 ? (int)floor(log10(value)) + 1 : 1;
  const int decimals = cell->shown > leading ? cell->shown - leading : 0;
  const char *bold = self->column_count > 1 && cell->figures.median <= best ? "**" : "";
  fprintf(out, " %s%.*f%s |", bold, decimals, statistics_trim(value, cell->shown), bold);
}

void render_markdown(const grid *self, FILE *out) {
  bool threads = false;
  for (uint32_t row = 1; row < self->row_count; row++)
    threads = threads || self->rows[row].threads != self->rows[0].threads;
  fputs("| ", out);
  render_markdown_text(self->label, out);
  fprintf(out, " (%s) |%s%s", self->unit.symbol, self->shows_env ? " env |" : "", threads ? " threads |" : "");
  for (uint32_t column = 0; column < self->column_count; column++) {
    fputc(' ', out);
    render_markdown_text(self->columns[column].name, out);
    fputs(" |", out);
  }
  fputs("\n| --- |", out);
  for (uint32_t i = 0; i < self->column_count + self->shows_env + threads; i++) fputs(" ---: |", out);
  fputc('\n', out);
  for (uint32_t row = 0; row < self->row_count; row++) {
    fputs("| ", out);
    render_markdown_text(self->rows[row].name, out);
    fputs(" |", out);
    if (self->shows_env) {
      fputc(' ', out);
      render_markdown_text(self->rows[row].env, out);
      fputs(" |", out);
    }
    if (threads) fprintf(out, " %" PRIu64 " |", self->rows[row].threads);
    for (uint32_t column = 0; column < self->column_count; column++)
      markdown_cell(self, cell_at(self, row, column), grid_best(self, row), out);
    fputc('\n', out);
  }
}

void render_csv_field(const char *text, FILE *out) {
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

void render_csv_heading(FILE *out) {
  fputs("label,sub_label,env,threads,description,file,device,median_s,mean_s,iqr_s,min_s,max_s,blocks,figures,"
        "p25_s,p75_s,p90_s,p99_s,mad_s,instructions\r\n",
        out);
}

void render_csv(const grid *self, const samples *from, FILE *out) {
  for (uint32_t row = 0; row < self->row_count; row++)
    for (uint32_t column = 0; column < self->column_count; column++) {
      const sample *cell = cell_at(self, row, column);
      if (!cell) continue;
      const char *const texts[] = {self->label, self->rows[row].name, self->rows[row].env};
      for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        render_csv_field(texts[i], out);
        fputc(',', out);
      }
      fprintf(out, "%" PRIu64 ",", self->rows[row].threads);
      render_csv_field(cell->of->description ? cell->of->description : "", out);
      fputc(',', out);
      render_csv_field(from->names[cell->file], out);
      fputc(',', out);
      render_csv_field(cell->of->device, out);
      fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,%" PRIu64 ",%d,%.9g,%.9g,%.9g,%.9g,%.9g,", cell->figures.median,
              cell->figures.mean, cell->figures.iqr, cell->figures.min, cell->figures.max, cell->figures.count,
              cell->figures.figures, cell->figures.p25, cell->figures.p75, cell->figures.p90, cell->figures.p99,
              cell->figures.mad);
      if (cell->instructions) {
        instruction_figures step;
        instructions_figures(cell->instructions, &step);
        fprintf(out, "%.15g", step.median);
      }
      fputs("\r\n", out);
    }
}
