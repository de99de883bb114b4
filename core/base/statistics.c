/* See statistics.h. */
#include "statistics.h"

#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A narrower interval is not believed: torch's _MIN_CONFIDENCE_INTERVAL. */
#define LEAST_INTERVAL_S 25e-9

int statistics_figures(const double *sorted, uint64_t count) {
  const uint64_t first = count / 4, end = count - count / 4, inner = end - first;
  double mean = 0, square = 0;
  if (!count) return 1;
  for (uint64_t i = first; i < end; i++) mean += sorted[i] / (double)inner;
  for (uint64_t i = first; i < end; i++) square += (sorted[i] - mean) * (sorted[i] - mean);
  const double error = sqrt(square / (double)inner) / sqrt((double)inner);
  const double interval = fmax(1.645 * error, LEAST_INTERVAL_S);
  const double median = stats_quantile(sorted, count, 0.5);
  if (!(median > 0)) return 1;
  const double figures = floor(log10(median / interval));
  return figures < 1 ? 1 : figures > STATISTICS_FIGURES ? STATISTICS_FIGURES : (int)figures;
}

bool statistics_make(const double *values, uint64_t count, statistics *out) {
  *out = (statistics){.count = count};
  if (!count) return true;
  double *sorted = malloc(count * sizeof *sorted);
  if (!sorted) return false;
  memcpy(sorted, values, count * sizeof *sorted);
  const pd_spread spread = stats_spread(sorted, count); /* sorts */
  out->min = spread.min;
  out->max = spread.max;
  out->mean = spread.mean;
  out->median = spread.median;
  out->p90 = spread.p90;
  out->p25 = stats_quantile(sorted, count, 0.25);
  out->p75 = stats_quantile(sorted, count, 0.75);
  out->p99 = stats_quantile(sorted, count, 0.99);
  out->iqr = out->p75 - out->p25;
  out->figures = statistics_figures(sorted, count);
  for (uint64_t i = 0; i < count; i++) sorted[i] = fabs(sorted[i] - out->median);
  stats_sort(sorted, count);
  out->mad = stats_quantile(sorted, count, 0.5);
  free(sorted);
  return true;
}

double statistics_trim(double value, int figures) {
  if (!(fabs(value) > 0)) return 0;
  const double scale = pow(10, ceil(log10(fabs(value))) - figures);
  return rint(value / scale) * scale;
}

time_unit statistics_unit(double seconds) {
  static const time_unit units[] = {
      {"ns", "nanosecond", 1e-9}, {"us", "microsecond", 1e-6}, {"ms", "millisecond", 1e-3}, {"s", "second", 1}};
  int at = 0;
  while (at < 3 && seconds >= units[at + 1].s) at++;
  return units[at];
}
