/* See histogram.h. */
#include "histogram.h"

#include <math.h>
#include <stddef.h>

uint32_t histogram_fill(const double *values, uint64_t count, double rows[HISTOGRAM_BUCKETS * 3]) {
  if (!count) return 0;
  double low = values[0], high = values[0];
  for (uint64_t i = 1; i < count; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  if (high <= low) {
    rows[0] = low - 0.5;
    rows[1] = low + 0.5;
    rows[2] = (double)count;
    return 1;
  }
  const int by_ratio = low > 0 && high > 100 * low;
  const double from = by_ratio ? log(low) : low, to = by_ratio ? log(high) : high;
  const double width = (to - from) / HISTOGRAM_BUCKETS;
  for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
    const double left = from + (double)i * width, right = from + (double)(i + 1) * width;
    rows[3 * i] = i == 0 ? low : by_ratio ? exp(left) : left;
    rows[3 * i + 1] = i + 1 == HISTOGRAM_BUCKETS ? high : by_ratio ? exp(right) : right;
    rows[3 * i + 2] = 0;
  }
  for (uint64_t i = 0; i < count; i++) {
    int bucket = (int)(((by_ratio ? log(values[i]) : values[i]) - from) / width);
    if (bucket < 0) bucket = 0;
    if (bucket >= HISTOGRAM_BUCKETS) bucket = HISTOGRAM_BUCKETS - 1;
    rows[3 * (size_t)bucket + 2]++;
  }
  return HISTOGRAM_BUCKETS;
}
