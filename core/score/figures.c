/* See figures.h. */
#include "figures.h"

#include "analysis/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Over causes that have runs or were named without any. */
static double macro_of(figures *out) {
  double sum = 0;
  uint32_t count = 0;
  for (uint32_t c = 0; c < out->causes; c++) {
    cause_figures *of = &out->of[c];
    of->precision = of->named ? (double)of->right / (double)of->named : 0;
    of->recall = of->runs ? (double)of->right / (double)of->runs : 0;
    of->f1 = of->runs + of->named ? 2 * (double)of->right / (double)(of->runs + of->named) : 0;
    if (!of->runs) continue;
    sum += of->f1;
    count++;
  }
  return count ? sum / count : 0;
}

static void count_cell(figures *out, const judged *cell) {
  out->matrix[cell->truth][cell->verdict]++;
  out->of[cell->truth].runs++;
  out->of[cell->verdict].named++;
  out->of[cell->truth].right += cell->truth == cell->verdict;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The same runs drawn again with replacement; a fixed sequence, so that the interval is the same every time. */
static void bootstrap(const judged *counted, uint32_t count, figures *out, double *rounds, figures *scratch) {
  uint64_t state = 1;
  for (uint32_t round = 0; round < FIGURES_ROUNDS; round++) {
    *scratch = (figures){.causes = out->causes};
    for (uint32_t i = 0; i < count; i++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      count_cell(scratch, &counted[(state >> 33) % count]);
    }
    rounds[round] = macro_of(scratch);
  }
  qsort(rounds, FIGURES_ROUNDS, sizeof *rounds, by_value);
  out->macro_low = stats_quantile(rounds, FIGURES_ROUNDS, 0.025);
  out->macro_high = stats_quantile(rounds, FIGURES_ROUNDS, 0.975);
}

bool figures_make(const judged *cells, uint32_t count, uint32_t causes, figures *out) {
  judged *counted = calloc(count + 1u, sizeof *counted);
  double *errors = malloc((count + 1u) * sizeof *errors), *rounds = malloc(FIGURES_ROUNDS * sizeof *rounds);
  figures *scratch = malloc(sizeof *scratch);
  const bool ok = counted && errors && rounds && scratch;
  uint32_t error_count = 0;
  *out = (figures){.causes = causes};
  for (uint32_t i = 0; ok && i < count; i++) {
    const judged *cell = &cells[i];
    if (!cell->counts) {
      out->left_out++;
      continue;
    }
    counted[out->counted++] = *cell;
    count_cell(out, cell);
    if (cell->truth == 0) {
      out->baselines++;
      out->false_alarms += cell->verdict != 0;
    } else if (cell->truth == cell->verdict) {
      errors[error_count++] = 100 * fabs(cell->share - cell->effect);
    }
  }
  if (ok) {
    out->macro_f1 = macro_of(out);
    if (out->counted) bootstrap(counted, out->counted, out, rounds, scratch);
    qsort(errors, error_count, sizeof *errors, by_value);
    out->error_median = stats_quantile(errors, error_count, 0.5);
    out->error_p95 = stats_quantile(errors, error_count, 0.95);
  }
  free(counted);
  free(errors);
  free(rounds);
  free(scratch);
  return ok;
}
