/* See sweep_draws.h. */
#include "sweep_draws.h"

#include "sweep_curves.h"
#include "compare/render.h"
#include "compare/sample_ratio.h"

#include "base/text_width.h"
#include "base/rank_correlation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* COLUMN: room for "+0.68 (p = 0.018)"; ENDS: draws at either end of the ratios that are shown. */
enum { NAME_BYTES = 4096, COLUMN = 18, ENDS = 5, WORDS = 4 };

/* "scenario.implementation=bmm": a combination of the axes; without any, what was timed. */
static const char *combination(const sweep_found *self, uint32_t at, char name[NAME_BYTES]) {
  const sweep_plan *plan = self->plan;
  if (!plan->axis_count) return self->of;
  return sweep_plan_name(plan, at, plan->draws.key_count, sweep_plan_key_count(plan), name, NAME_BYTES);
}

static void key_name(const sweep_plan *plan, uint32_t key, char name[NAME_BYTES]) {
  snprintf(name, NAME_BYTES, "%s.%s", plan->draws.keys[key].section, plan->draws.keys[key].key);
}

static int wider(int width, const char *text) {
  const int needed = text_width(text);
  return needed > width ? needed : width;
}

/* ---- which key matters ---- */

/* Correlates the draws that were measured at this combination; `x` and `y` have room for all. */
static bool correlate(const sweep_found *self, uint32_t key, uint32_t at, double *x, double *y, rank_correlation *out) {
  const uint32_t cells = sweep_plan_draw_cells(self->plan);
  uint64_t count = 0;
  for (uint32_t draw = 0; draw < self->plan->draws.count; draw++) {
    const sample *of = sweep_found_at(self, draw * cells + at);
    if (!of || !distribution_number(draws_value(&self->plan->draws, draw, key), &x[count])) continue;
    y[count++] = of->figures.median;
  }
  return rank_correlation_make(x, y, count, out);
}

static bool print_correlations(const sweep_found *self, double *x, double *y) {
  const draws *from = &self->plan->draws;
  const uint32_t cells = sweep_plan_draw_cells(self->plan);
  char name[NAME_BYTES], text[64];
  int first = 0;
  for (uint32_t at = 0; at < cells; at++) first = wider(first, combination(self, at, name));
  printf("\nRank correlation of a key with the median (Spearman; %u draw%s, seed %" PRIu64 ")\n  %*s", from->count,
         from->count == 1 ? "" : "s", from->seed, first, "");
  for (uint32_t key = 0; key < from->key_count; key++) {
    key_name(self->plan, key, name);
    if (distribution_is_numeric(&from->keys[key])) printf("  %*s", wider(COLUMN, name), name);
  }
  putchar('\n');
  for (uint32_t at = 0; at < cells; at++) {
    const char *row = combination(self, at, name);
    printf("  %s%*s", row, first - text_width(row), "");
    for (uint32_t key = 0; key < from->key_count; key++) {
      rank_correlation found;
      if (!distribution_is_numeric(&from->keys[key])) continue;
      if (!correlate(self, key, at, x, y, &found)) return false;
      snprintf(text, sizeof text, isnan(found.rho) ? "n/a" : "%+.2f (p = %.3f)", found.rho, found.p);
      key_name(self->plan, key, name);
      printf("  %*s", wider(COLUMN, name), text);
    }
    putchar('\n');
  }
  return true;
}

static bool print_what_matters(const sweep_found *self) {
  const draws *from = &self->plan->draws;
  char name[NAME_BYTES];
  uint32_t numeric = 0;
  for (uint32_t i = 0; i < from->key_count; i++) numeric += distribution_is_numeric(&from->keys[i]);
  double *values = calloc(2 * (size_t)from->count, sizeof *values);
  const bool ok = values && (!numeric || print_correlations(self, values, values + from->count));
  free(values);
  if (!ok) return false;
  if (!numeric) putchar('\n');
  for (uint32_t i = 0; i < from->key_count; i++) {
    if (distribution_is_numeric(&from->keys[i])) continue;
    key_name(self->plan, i, name);
    printf("%s: its values are not numbers, so they have no rank\n", name);
  }
  return true;
}

/* ---- one of two ---- */

/* The second combination against the first, in one draw. */
typedef struct pair {
  sample_ratio to_first;
  uint32_t draw;
  bool there; /* both were measured and took any time */
} pair;

static int by_ratio(const void *a, const void *b) {
  const pair *x = a, *y = b;
  const double one = x->to_first.of.ratio, other = y->to_first.of.ratio;
  return (one > other) - (one < other);
}

/* A pair per draw. NULL on no memory. */
static pair *make_pairs(const sweep_found *self) {
  pair *pairs = calloc(self->plan->draws.count, sizeof *pairs);
  for (uint32_t draw = 0; pairs && draw < self->plan->draws.count; draw++) {
    const sample *a = sweep_found_at(self, 2 * draw), *b = sweep_found_at(self, 2 * draw + 1);
    pair *to = &pairs[draw];
    to->draw = draw;
    if (!a || !b) continue;
    if (!sample_ratio_of(a, b, COMPARISON_MARGIN, &to->to_first)) {
      free(pairs);
      return NULL;
    }
    to->there = !to->to_first.timeless;
  }
  return pairs;
}

/* Those that are there, by their ratio. Returns how many. */
static uint32_t sort_pairs(pair *pairs, uint32_t count) {
  uint32_t there = 0;
  for (uint32_t i = 0; i < count; i++)
    if (pairs[i].there) pairs[there++] = pairs[i];
  qsort(pairs, there, sizeof *pairs, by_ratio);
  return there;
}

static int column_width(const sweep_plan *plan, uint32_t key) {
  char name[NAME_BYTES];
  key_name(plan, key, name);
  int width = text_width(name);
  for (uint32_t draw = 0; draw < plan->draws.count; draw++) width = wider(width, draws_value(&plan->draws, draw, key));
  return width;
}

static void print_pair(const sweep_plan *plan, const pair *at, const int *widths) {
  const resample_ratio *of = &at->to_first.of;
  printf("  %8.4f  %8.4f to %8.4f  %-7s", of->ratio, of->low, of->high, comparison_word(at->to_first.found));
  for (uint32_t key = 0; key < plan->draws.key_count; key++) {
    const char *value = draws_value(&plan->draws, at->draw, key);
    printf("  %*s%s", widths[key] - text_width(value), "", value);
  }
  putchar('\n');
}

static void print_pairs(const sweep_found *self, const pair *pairs, uint32_t count) {
  const sweep_plan *plan = self->plan;
  char a[NAME_BYTES], b[NAME_BYTES], name[NAME_BYTES];
  int widths[DRAWS_KEYS];
  uint32_t counts[WORDS] = {0};
  for (uint32_t i = 0; i < count; i++) counts[pairs[i].to_first.found]++;
  printf("\n%s against %s: FASTER in %u of %u draw%s, SLOWER in %u, SAME in %u, UNCLEAR in %u\n",
         combination(self, 1, b), combination(self, 0, a), counts[OUTCOME_FASTER], count, count == 1 ? "" : "s",
         counts[OUTCOME_SLOWER], counts[OUTCOME_SAME], counts[OUTCOME_UNCLEAR]);
  if (!count) return;
  printf("  %8s  %20s  %-7s", "ratio", "95 %", "verdict");
  for (uint32_t key = 0; key < plan->draws.key_count; key++) {
    key_name(plan, key, name);
    widths[key] = column_width(plan, key);
    printf("  %*s", widths[key], name);
  }
  putchar('\n');
  for (uint32_t i = 0; i < count; i++) {
    if (i < ENDS || i + ENDS >= count) print_pair(plan, &pairs[i], widths);
    if (i == ENDS && i + ENDS < count) printf("  ... %u more in draws.csv ...\n", count - 2 * ENDS);
  }
}

static bool has_pairs(const sweep_found *self) { return sweep_plan_draw_cells(self->plan) == 2; }

static bool print_two(const sweep_found *self) {
  pair *pairs = make_pairs(self);
  if (!pairs) return false;
  print_pairs(self, pairs, sort_pairs(pairs, self->plan->draws.count));
  free(pairs);
  return true;
}

/* ---- the whole ---- */

bool sweep_draws_print(const sweep_found *self) {
  if (!print_what_matters(self) || (has_pairs(self) && !print_two(self))) return false;
  if (!sweep_curves_exist(self->plan)) printf("\nNo curves: those are of one drawn key whose values are numbers.\n");
  return true;
}

static void write_heading(const sweep_found *self, FILE *out) {
  fputs("draw", out);
  for (uint32_t i = 0; i < sweep_plan_key_count(self->plan); i++) {
    const config_assignment key = sweep_plan_at(self->plan, 0, i);
    fprintf(out, ",%s.%s", key.section, key.key);
  }
  fprintf(out, ",median_s,p25_s,p75_s,blocks%s\r\n", has_pairs(self) ? ",ratio,ratio_low,ratio_high,p,verdict" : "");
}

/* In the row of the second combination. */
static void write_pair(const sample_ratio *of, FILE *out) {
  if (of)
    fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%s", of->of.ratio, of->of.low, of->of.high, of->of.p,
            comparison_word(of->found));
  else
    fputs(",,,,,", out);
}

bool sweep_draws_write(const sweep_found *self, FILE *out) {
  const sweep_plan *plan = self->plan;
  pair *pairs = has_pairs(self) ? make_pairs(self) : NULL;
  if (has_pairs(self) && !pairs) return false;
  write_heading(self, out);
  for (uint32_t cell = 0; cell < plan->cell_count; cell++) {
    const uint32_t draw = cell / sweep_plan_draw_cells(plan);
    const sample *of = sweep_found_at(self, cell);
    fprintf(out, "%u", draw + 1);
    for (uint32_t i = 0; i < sweep_plan_key_count(plan); i++) {
      fputc(',', out);
      render_csv_field(sweep_plan_at(plan, cell, i).value, out);
    }
    if (of)
      fprintf(out, ",%.9g,%.9g,%.9g,%" PRIu64, of->figures.median, of->figures.p25, of->figures.p75, of->figures.count);
    else
      fputs(",,,,0", out);
    if (pairs) write_pair(cell % 2 && pairs[draw].there ? &pairs[draw].to_first : NULL, out);
    fputs("\r\n", out);
  }
  free(pairs);
  return true;
}
