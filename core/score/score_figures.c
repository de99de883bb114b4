/* See score_figures.h. */
#include "score_figures.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
  double effect, hit;
} pair;

/* Room for one round: as many as there are runs. */
typedef struct room {
  judged *cells;
  double *errors, *fixes, *effects, *hits, *gains;
  uint32_t *begins;
  pair *pairs;
} room;

static int by_effect(const void *a, const void *b) {
  const pair *x = a, *y = b;
  if (x->effect != y->effect) return x->effect < y->effect ? -1 : 1;
  return (x->hit > y->hit) - (x->hit < y->hit);
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static double quantile_of(double *values, uint32_t count, double quantile) {
  if (!count) return NAN;
  stats_sort(values, count);
  return stats_quantile(values, count, quantile);
}

/* ---- one set of runs ---- */

/* Blocks lie one after the other: hits[b] is the rate of block b, whose runs end where the next block begins. */
double figures_limit(const double *effects, double *hits, uint32_t *begins, uint32_t count, double wanted) {
  uint32_t blocks = 0;
  for (uint32_t i = 0; i < count; i++) {
    begins[blocks] = i;
    hits[blocks++] = hits[i];
    while (blocks > 1) {
      const uint32_t last = blocks - 1, begin = begins[last];
      if (hits[last - 1] < hits[last] && effects[begin - 1] < effects[begin]) break;
      const double left = begin - begins[last - 1], right = i + 1 - begin;
      hits[last - 1] = (hits[last - 1] * left + hits[last] * right) / (left + right);
      blocks--;
    }
  }
  for (uint32_t b = 0; b < blocks; b++)
    if (hits[b] >= wanted) return effects[begins[b]];
  return NAN;
}

static void limits(const judged *cells, uint32_t count, uint32_t cause, room *at, cause_figures *out) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++)
    if (cells[i].truth == cause && !cells[i].off_path && cells[i].effect > 0)
      at->pairs[found++] = (pair){cells[i].effect, cells[i].verdict == cause};
  qsort(at->pairs, found, sizeof *at->pairs, by_effect);
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < found; i++) {
      at->effects[i] = at->pairs[i].effect;
      at->hits[i] = at->pairs[i].hit;
    }
    *(pass ? &out->limit95 : &out->limit50) =
        figures_limit(at->effects, at->hits, at->begins, found, pass ? 0.95 : 0.5);
  }
}

static void count_cell(figures *out, const judged *cell) {
  calibration_bin *bin = &out->bins[cell->repeatable >= 1 ? FIGURES_BINS - 1 : (int)(cell->repeatable * FIGURES_BINS)];
  const bool right = cell->truth == cell->verdict;
  out->counted++;
  out->matrix[cell->truth][cell->verdict]++;
  out->counts[cell->truth].runs++;
  out->counts[cell->verdict].named++;
  out->counts[cell->truth].right += right;
  bin->runs++;
  bin->right += right;
  bin->repeatable += cell->repeatable;
}

static void by_cause(figures *out, const judged *cells, uint32_t count, room *at) {
  uint32_t causes = 0, right = 0;
  out->value.macro_f1 = 0;
  for (uint32_t c = 0; c < out->causes; c++) {
    const cause_counts *of = &out->counts[c];
    cause_figures *value = &out->value.of[c];
    value->precision = ratio(of->right, of->named);
    value->recall = ratio(of->right, of->runs);
    value->f1 = ratio(2.0 * of->right, (double)of->runs + of->named);
    value->limit50 = value->limit95 = NAN;
    right += of->right;
    if (c) limits(cells, count, c, at, value);
    if (!of->runs) continue;
    out->value.macro_f1 += value->f1;
    causes++;
  }
  out->value.macro_f1 = ratio(out->value.macro_f1, causes);
  out->value.accuracy = ratio(right, out->counted);
}

static double calibration_of(const figures *of) {
  double sum = 0;
  for (uint32_t b = 0; b < FIGURES_BINS; b++) sum += fabs(of->bins[b].repeatable - of->bins[b].right);
  return ratio(sum, of->counted);
}

/* The median of one kind of fixes; all of both kinds where `wanted` is NULL. */
static double fix_median(const judged *cells, uint32_t count, const bool *wanted, room *at, uint32_t *tried) {
  *tried = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!isnan(cells[i].fix_error) && (!wanted || cells[i].fix_is_own == *wanted))
      at->fixes[(*tried)++] = cells[i].fix_error;
  return quantile_of(at->fixes, *tried, 0.5);
}

static void fixes_of(const judged *cells, uint32_t count, figures *out, room *at) {
  static const bool own = true, core = false;
  uint32_t core_tried;
  out->value.fix_error = fix_median(cells, count, NULL, at, &out->tried);
  out->value.own_fix_error = fix_median(cells, count, &own, at, &out->own_tried);
  out->value.core_fix_error = fix_median(cells, count, &core, at, &core_tried);
}

static void gains_of(const judged *cells, uint32_t count, figures *out, room *at) {
  for (uint32_t i = 0; i < count; i++) out->unknown_gains += cells[i].unknown_gains;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t g = 0; g < cells[i].gain_count; g++) at->gains[out->gains++] = fabs(cells[i].gain_errors[g]);
  out->value.gain_error_median = quantile_of(at->gains, out->gains, 0.5);
  out->value.gain_error_p95 = quantile_of(at->gains, out->gains, 0.95);
}

static void point(const judged *cells, uint32_t count, figures *out, room *at) {
  uint32_t errors = 0, alarms = 0;
  double idle = 0, unknown = 0, mixed = 0;
  const uint32_t causes = out->causes;
  *out = (figures){.causes = causes};
  for (uint32_t i = 0; i < count; i++) {
    const judged *cell = &cells[i];
    idle += cell->idle_ns;
    unknown += cell->unknown_ns;
    out->off_path += cell->off_path && !cell->untold;
    out->off_path_named += cell->off_path && !cell->untold && cell->verdict != 0;
    out->fixes_without_step += cell->fix_without_step;
    out->fixes_slower += cell->fix_is_slower;
    if (!cell->counts || cell->off_path) {
      out->left_out += !cell->off_path || cell->untold;
      continue;
    }
    count_cell(out, cell);
    if (!isnan(cell->mixed_error)) {
      mixed += 100 * cell->mixed_error;
      out->mixed++;
    }
    if (cell->truth == 0) {
      out->baselines++;
      alarms += cell->verdict != 0;
    } else if (cell->truth == cell->verdict) {
      at->errors[errors++] = 100 * fabs(cell->share - cell->effect);
    }
  }
  by_cause(out, cells, count, at);
  out->value.false_alarms = ratio(alarms, out->baselines);
  out->value.off_path_alarms = ratio(out->off_path_named, out->off_path);
  out->value.error_median = quantile_of(at->errors, errors, 0.5);
  out->value.error_p95 = quantile_of(at->errors, errors, 0.95);
  out->value.calibration = calibration_of(out);
  out->value.unknown = ratio(unknown, idle);
  out->value.mixed_error = ratio(mixed, out->mixed);
  fixes_of(cells, count, out, at);
  gains_of(cells, count, out, at);
}

/* ---- intervals ---- */

enum { VALUES = sizeof(figures_values) / sizeof(double) };

/* The same runs drawn again with replacement; a fixed sequence, so that the intervals are the same every time. */
static void resample(const judged *cells, uint32_t count, figures *out, room *at, double *rounds, figures *scratch) {
  uint64_t state = 1;
  for (uint32_t round = 0; round < FIGURES_ROUNDS; round++) {
    for (uint32_t i = 0; i < count; i++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      at->cells[i] = cells[(state >> 33) % count];
    }
    scratch->causes = out->causes;
    point(at->cells, count, scratch, at);
    double values[VALUES];
    memcpy(values, &scratch->value, sizeof values);
    for (uint32_t v = 0; v < VALUES; v++) rounds[v * FIGURES_ROUNDS + round] = values[v];
  }
}

/* Rounds in which a figure has no run to tell are left out of its interval. */
static void interval_of(double *rounds, double *low, double *high) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < FIGURES_ROUNDS; i++)
    if (!isnan(rounds[i])) rounds[known++] = rounds[i];
  *low = quantile_of(rounds, known, 0.025);
  *high = quantile_of(rounds, known, 0.975);
}

static void bootstrap(const judged *cells, uint32_t count, figures *out, room *at, double *rounds, figures *scratch) {
  double low[VALUES] = {0}, high[VALUES] = {0};
  if (count) resample(cells, count, out, at, rounds, scratch);
  for (size_t v = 0; v < VALUES; v++) {
    low[v] = high[v] = NAN;
    if (count) interval_of(rounds + v * FIGURES_ROUNDS, &low[v], &high[v]);
  }
  memcpy(&out->low, low, sizeof low);
  memcpy(&out->high, high, sizeof high);
}

void figures_rate(uint32_t part, uint32_t whole, double *low, double *high) {
  const double z = 1.959963984540054; /* the normal distribution's quantile of 0.975 */
  *low = *high = NAN;
  if (!whole) return;
  const double n = whole, p = part / n, scale = 1 / (1 + z * z / n);
  const double middle = scale * (p + z * z / (2 * n)), half = scale * z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  *low = part ? middle - half : 0;
  *high = part < whole ? middle + half : 1;
}

/* Resampled, a rate of 0 or 1 would have no width however few the runs are. */
static void rates(figures *out) {
  uint32_t right = 0;
  for (uint32_t c = 0; c < out->causes; c++) {
    const cause_counts *of = &out->counts[c];
    right += of->right;
    figures_rate(of->right, of->named, &out->low.of[c].precision, &out->high.of[c].precision);
    figures_rate(of->right, of->runs, &out->low.of[c].recall, &out->high.of[c].recall);
  }
  figures_rate(right, out->counted, &out->low.accuracy, &out->high.accuracy);
  figures_rate(out->baselines - out->counts[0].right, out->baselines, &out->low.false_alarms, &out->high.false_alarms);
  figures_rate(out->off_path_named, out->off_path, &out->low.off_path_alarms, &out->high.off_path_alarms);
}

bool figures_make(const judged *cells, uint32_t count, uint32_t causes, figures *out) {
  const size_t n = count + 1u;
  room at = {calloc(n, sizeof *at.cells),   malloc(n * sizeof *at.errors),
             malloc(n * sizeof *at.fixes),  malloc(n * sizeof *at.effects),
             malloc(n * sizeof *at.hits),   malloc(n * FIGURES_GAINS * sizeof *at.gains),
             malloc(n * sizeof *at.begins), malloc(n * sizeof *at.pairs)};
  double *rounds = malloc((size_t)VALUES * FIGURES_ROUNDS * sizeof *rounds);
  figures *scratch = malloc(sizeof *scratch);
  const bool ok = at.cells && at.errors && at.fixes && at.effects && at.hits && at.gains && at.begins && at.pairs &&
                  rounds && scratch;
  *out = (figures){.causes = causes};
  if (ok) {
    point(cells, count, out, &at);
    bootstrap(cells, count, out, &at, rounds, scratch);
    rates(out);
  }
  free(at.cells);
  free(at.errors);
  free(at.fixes);
  free(at.effects);
  free(at.hits);
  free(at.gains);
  free(at.begins);
  free(at.pairs);
  free(rounds);
  free(scratch);
  return ok;
}
