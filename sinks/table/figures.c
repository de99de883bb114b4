/* See figures.h. */
#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double figures_quantile(const double *sorted, uint64_t count, double quantile) {
  double at = count ? quantile * (double)(count - 1) : 0;
  uint64_t below = (uint64_t)at;
  if (!count) return 0;
  if (below >= count - 1) return sorted[count - 1];
  return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

int figures_digits(double *values_s, uint64_t count) {
  const uint64_t first = count / 4, end = count - count / 4;
  double mean = 0, square = 0, interval, median;
  int digits;
  if (count < 2) return 4;
  qsort(values_s, count, sizeof *values_s, by_value);
  for (uint64_t i = first; i < end; i++) mean += values_s[i] / (double)(end - first);
  for (uint64_t i = first; i < end; i++) square += (values_s[i] - mean) * (values_s[i] - mean);
  /* 1.645 sigma / sqrt(n), and the clock's own doubt. */
  interval = fmax(1.645 * sqrt(square) / (double)(end - first), 25e-9);
  median = figures_quantile(values_s, count, 0.5);
  if (!(median > 0)) return 1;
  digits = (int)floor(log10(median / interval));
  return digits < 1 ? 1 : digits > 4 ? 4 : digits;
}

void figures_write(char *out, size_t room, double value, int digits) {
  int magnitude = fabs(value) > 0 ? (int)floor(log10(fabs(value))) : 0;
  int decimals = digits - 1 - magnitude;
  if (!isfinite(value)) {
    snprintf(out, room, "-");
  } else if (decimals >= 0) {
    snprintf(out, room, "%.*f", decimals > 12 ? 12 : decimals, value);
  } else {
    double scale = pow(10, -decimals);
    snprintf(out, room, "%.0f", round(value / scale) * scale);
  }
}
