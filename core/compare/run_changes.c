/* See run_changes.h. */
#include "run_changes.h"

#include "render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 64, NAME_COLUMN = 36 };

typedef struct change {
  const char *category;
  double s[2]; /* of a step */
} change;

static double amount(const change *self) { return fabs(self->s[1] - self->s[0]); }

static int by_amount(const void *a, const void *b) {
  const double x = amount(a), y = amount(b);
  return (x < y) - (x > y);
}

static double step_of(const run_account *self) {
  double sum = 0;
  for (uint32_t i = 0; i < self->part_count; i++) sum += self->parts[i].per_step_s;
  return sum;
}

static bool is_listed(const change *rows, uint32_t count, const char *category) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(rows[i].category, category) == 0) return true;
  return false;
}

/* Those worth a line, the largest change first. */
static uint32_t collect(const run_changes *self, change *rows) {
  uint32_t count = 0;
  for (int side = 0; side < 2; side++) {
    const run_account *of = self->sides[side];
    for (uint32_t i = 0; i < of->part_count && count < PARTS_MOST; i++) {
      const char *category = of->parts[i].category;
      if (of->parts[i].per_step_s < RUN_CHANGES_LEAST * step_of(of) || is_listed(rows, count, category)) continue;
      rows[count++] =
          (change){.category = category,
                   .s = {run_account_part(self->sides[0], category), run_account_part(self->sides[1], category)}};
    }
  }
  qsort(rows, count, sizeof *rows, by_amount);
  return count;
}

static void print_row(const change *row, bool markdown, FILE *out) {
  if (markdown) {
    fputs("| ", out);
    render_markdown_text(row->category, out);
    fprintf(out, " | %.3g | %.3g | %+.3g |\n", 1e3 * row->s[0], 1e3 * row->s[1], 1e3 * (row->s[1] - row->s[0]));
    return;
  }
  fprintf(out, "  %-*s %9.3g %9.3g %+9.3g\n", NAME_COLUMN, row->category, 1e3 * row->s[0], 1e3 * row->s[1],
          1e3 * (row->s[1] - row->s[0]));
}

void run_changes_print(const run_changes *self, bool markdown, FILE *out) {
  change rows[PARTS_MOST] = {0};
  const uint32_t count = collect(self, rows);
  fputc('\n', out);
  for (int side = 0; side < 2; side++) {
    const char *verdict = self->sides[side]->verdict;
    fprintf(out, "%sVerdict of %s: %s\n", markdown ? "- " : "", self->names[side], verdict ? verdict : "(none)");
  }
  if (!count) return;
  if (markdown)
    fprintf(out, "\n| Where the step goes, ms | A | B | change |\n| --- | ---: | ---: | ---: |\n");
  else
    fprintf(out, "\n%-*s %9s %9s %9s\n", NAME_COLUMN + 2, "Where the step goes, ms", "A", "B", "change");
  for (uint32_t i = 0; i < count; i++) print_row(&rows[i], markdown, out);
  if (markdown) fputc('\n', out);
}
