/* See stats.h. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void stats_sort(double *values, uint64_t count) { qsort(values, count, sizeof *values, by_value); }

double stats_quantile(const double *sorted, uint64_t count, double quantile) {
  double at;
  uint64_t below;
  if (!count) return 0;
  at = quantile * (double)(count - 1);
  below = (uint64_t)at;
  if (below >= count - 1) return sorted[count - 1];
  at -= (double)below;
  /* From the nearer end, so that the result never leaves the two values. */
  return at < 0.5 ? sorted[below] + at * (sorted[below + 1] - sorted[below])
                  : sorted[below + 1] - (1 - at) * (sorted[below + 1] - sorted[below]);
}

pd_spread stats_spread(double *values, uint64_t count) {
  pd_spread spread = {.count = count};
  double sum = 0;
  if (!count) return spread;
  stats_sort(values, count);
  for (uint64_t i = 0; i < count; i++) sum += values[i];
  spread.min = values[0];
  spread.max = values[count - 1];
  spread.mean = fmin(fmax(sum / (double)count, spread.min), spread.max);
  spread.median = stats_quantile(values, count, 0.5);
  spread.p10 = stats_quantile(values, count, 0.1);
  spread.p90 = stats_quantile(values, count, 0.9);
  return spread;
}

uint32_t stats_digits(double *values, uint64_t count) {
  enum { LEAST = 3, ALONE = 4, MOST = 5 };
  const uint64_t first = count / 4, end = count - count / 4;
  double mean = 0, square = 0;
  if (count < 2) return ALONE;
  stats_sort(values, count);
  for (uint64_t i = first; i < end; i++) mean += values[i] / (double)(end - first);
  for (uint64_t i = first; i < end; i++) square += (values[i] - mean) * (values[i] - mean);
  /* 1.645 sigma / sqrt(n) */
  const double interval = fmax(1.645 * sqrt(square) / (double)(end - first), 25e-9);
  const double certain = floor(log10(fabs(stats_quantile(values, count, 0.5)) / interval));
  return certain + 1 > LEAST ? certain + 1 < MOST ? (uint32_t)certain + 1 : MOST : LEAST;
}
