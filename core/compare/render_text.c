/* The table of torch.utils.benchmark.Compare; see render.h. */
#include "render.h"

#include "base/text_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEST "\033[92m\033[1m"
#define GOOD "\033[34m\033[1m"
#define BAD "\033[2m\033[91m"
#define VERY_BAD "\033[31m"
#define PLAIN "\033[0m"

/* Interquartile ranges from this share of the median on are marked. */
#define WIDE_SPREAD 0.1
enum { MARK_WIDTH = 8, CELL_BYTES = 64 };

/* How a column writes its numbers: a cell with fewer decimals of its own has blanks in place of the rest. */
typedef struct style {
  int digits, decimals;
  bool marks; /* room for a mark after each number */
} style;

static const sample *cell_at(const grid *self, uint32_t row, uint32_t column) {
  return self->cells[(size_t)row * self->column_count + column];
}

static bool is_wide(const sample *at) {
  return at && at->figures.median > 0 && at->figures.iqr / at->figures.median >= WIDE_SPREAD;
}

static int digits_of(const grid *self, const sample *cell) {
  const double value = cell->figures.median / self->unit.s;
  return value > 0 ? (int)floor(log10(value)) + 1 : 1;
}

static int decimals_of(const grid *self, const sample *cell) {
  const int digits = digits_of(self, cell);
  return cell->shown > digits ? cell->shown - digits : 0;
}

/* As torch does: as many decimals as all of its cells have. */
static style style_of(const grid *self, uint32_t column) {
  style made = {.digits = 1, .decimals = 17};
  for (uint32_t row = 0; row < self->row_count; row++) {
    const sample *cell = cell_at(self, row, column);
    if (!cell) continue;
    const int digits = digits_of(self, cell), kept = decimals_of(self, cell);
    if (digits > made.digits) made.digits = digits;
    if (kept < made.decimals) made.decimals = kept;
    made.marks = made.marks || is_wide(cell);
  }
  return made;
}

/* The points of a column stand below each other. */
static void number_text(const grid *self, const sample *cell, const style *as, char text[CELL_BYTES]) {
  const int kept = decimals_of(self, cell), decimals = kept < as->decimals ? kept : as->decimals;
  const int tail = as->decimals + (as->decimals > 0) - decimals - (decimals > 0);
  snprintf(text, CELL_BYTES, "%*.*f%*s", as->digits + decimals + (decimals > 0), decimals,
           statistics_trim(cell->figures.median / self->unit.s, cell->shown), tail, "");
}

static const char *cell_text(const grid *self, const sample *cell, const style *as, char text[CELL_BYTES]) {
  char mark[32] = "", number[CELL_BYTES] = "";
  const int width = as->digits + as->decimals + (as->decimals > 0);
  if (is_wide(cell)) snprintf(mark, sizeof mark, " (! %.0f%%)", 100 * cell->figures.iqr / cell->figures.median);
  if (cell) number_text(self, cell, as, number);
  snprintf(text, CELL_BYTES, "%*s%*s", width, number, as->marks ? MARK_WIDTH : 0, mark);
  return text;
}

/* ---- the order of what is printed ---- */

typedef struct place {
  const sample *cell; /* first, for samples_by_median */
  style *as;
} place;

static bool print_order(const grid *self, const place *low, const place *high, bool apart) {
  char a[CELL_BYTES], b[CELL_BYTES];
  number_text(self, low->cell, low->as, a);
  number_text(self, high->cell, high->as, b);
  return samples_tell_order(low->cell, high->cell, strtod(a, NULL), strtod(b, NULL), apart);
}

/* A decimal more in the column that has fewer, or in both, as far as their cells have any. */
static bool widen(const grid *self, const place *low, const place *high) {
  const int a = low->as->decimals, b = high->as->decimals;
  const bool can_a = a < decimals_of(self, low->cell), can_b = b < decimals_of(self, high->cell);
  if (can_a && (a <= b || !can_b)) low->as->decimals++;
  if (can_b && (b <= a || !can_a) && high->as->decimals == b) high->as->decimals++;
  return can_a || can_b;
}

/* The digits of the samples keep their order; the decimals that a column leaves out may not. */
static void keep_order(const grid *self, style *styles, place *sorted) {
  uint32_t count = 0;
  for (uint32_t row = 0; row < self->row_count; row++)
    for (uint32_t column = 0; column < self->column_count; column++)
      if (cell_at(self, row, column)) sorted[count++] = (place){cell_at(self, row, column), &styles[column]};
  qsort(sorted, count, sizeof *sorted, samples_by_median);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t i = 1; i < count; i++)
      while (!print_order(self, &sorted[i - 1], &sorted[i], i == 1) && widen(self, &sorted[i - 1], &sorted[i]))
        again = true;
  }
}

static void repeat(char what, int count, FILE *out) {
  for (int i = 0; i < count; i++) fputc(what, out);
}

/* As Python's str.center. */
static void center(const char *text, int width, FILE *out) {
  const int pad = width - text_width(text), left = pad > 0 ? pad / 2 + (pad & width & 1) : 0;
  repeat(' ', left, out);
  fputs(text, out);
  repeat(' ', pad - left, out);
}

static const char *color_of(double value, double best) {
  if (value <= best * 1.01 || value <= best + 100e-9) return BEST;
  if (value <= best * 1.1) return GOOD;
  if (value >= best * 5) return VERY_BAD;
  if (value >= best * 2) return BAD;
  return "";
}

/* "  (env)     name", as a row begins. */
static int row_heading(const grid *self, uint32_t row, int env_width, FILE *out) {
  const grid_row *at = &self->rows[row];
  const bool again = row && self->rows[row - 1].threads == at->threads && strcmp(self->rows[row - 1].env, at->env) == 0;
  int width = 2 + text_width(at->name);
  if (self->shows_env) {
    const int used = again ? 0 : 2 + text_width(at->env);
    if (out) fputs("  ", out);
    if (out && !again) fprintf(out, "(%s)", at->env);
    if (out) repeat(' ', env_width + 4 - used, out);
    width += env_width + 4;
  } else if (out) {
    fputs("  ", out);
  }
  if (out) fputs(at->name, out);
  return width;
}

typedef struct layout {
  style *styles;
  int *widths; /* of the columns */
  int first, env_width, whole;
} layout;

static void measure(const grid *self, layout *to, place *sorted) {
  char text[CELL_BYTES];
  for (uint32_t column = 0; column < self->column_count; column++) to->styles[column] = style_of(self, column);
  if (self->in_order) keep_order(self, to->styles, sorted);
  for (uint32_t row = 0; row < self->row_count && self->shows_env; row++)
    if (text_width(self->rows[row].env) > to->env_width) to->env_width = text_width(self->rows[row].env);
  for (uint32_t row = 0; row < self->row_count; row++) {
    const int width = row_heading(self, row, to->env_width, NULL);
    if (width > to->first) to->first = width;
  }
  to->whole = to->first;
  for (uint32_t column = 0; column < self->column_count; column++) {
    to->widths[column] = text_width(self->columns[column].name);
    for (uint32_t row = 0; row < self->row_count; row++) {
      const int width = text_width(cell_text(self, cell_at(self, row, column), &to->styles[column], text));
      if (width > to->widths[column]) to->widths[column] = width;
    }
    to->whole += 5 + to->widths[column];
  }
}

static void title(const grid *self, int width, FILE *out) {
  const int inner = width - 2, pad = inner - text_width(self->label) - 2;
  const int left = pad > 0 ? pad / 2 + (pad & inner & 1) : 0;
  fputc('[', out);
  repeat('-', left, out);
  fprintf(out, " %s ", self->label);
  repeat('-', pad - left, out);
  fputs("]\n", out);
}

static void write_row(const grid *self, uint32_t row, const layout *as, bool color, FILE *out) {
  char text[CELL_BYTES];
  const double best = grid_best(self, row);
  repeat(' ', as->first - row_heading(self, row, as->env_width, out), out);
  for (uint32_t column = 0; column < self->column_count; column++) {
    const sample *cell = cell_at(self, row, column);
    const char *begin = color && cell && best > 0 ? color_of(cell->figures.median, best) : "";
    fprintf(out, "  |  %s", begin);
    center(cell_text(self, cell, &as->styles[column], text), as->widths[column], out);
    if (begin[0]) fputs(PLAIN, out);
  }
  fputc('\n', out);
}

void render_text(const grid *self, bool color, FILE *out) {
  layout as = {.styles = calloc(self->column_count, sizeof *as.styles),
               .widths = calloc(self->column_count, sizeof *as.widths)};
  place *sorted = calloc((size_t)self->row_count * self->column_count, sizeof *sorted);
  bool wide = false;
  if (!as.styles || !as.widths || !sorted) goto out;
  measure(self, &as, sorted);
  title(self, as.whole, out);
  center("", as.first, out);
  for (uint32_t column = 0; column < self->column_count; column++) {
    fputs("  |  ", out);
    center(self->columns[column].name, as.widths[column], out);
    wide = wide || as.styles[column].marks;
  }
  fputc('\n', out);
  for (uint32_t row = 0; row < self->row_count; row++) {
    if (!row || self->rows[row].threads != self->rows[row - 1].threads) {
      const int used = fprintf(out, "%" PRIu64 " threads: ", self->rows[row].threads);
      repeat('-', as.whole - used, out);
      fputc('\n', out);
    }
    write_row(self, row, &as, color, out);
  }
  fprintf(out, "\nTimes are in %ss (%s).\n", self->unit.name, self->unit.symbol);
  if (wide) fputs("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n", out);
out:
  free(as.styles);
  free(as.widths);
  free(sorted);
}
