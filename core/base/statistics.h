/* Figures of a sample of times: quantiles as numpy's default, significant figures as torch.utils.benchmark's. Times are
 * in seconds. [any thread] */
#ifndef CORE_BASE_STATISTICS_H
#define CORE_BASE_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

enum { STATISTICS_FIGURES = 4 }; /* at most, as in torch */

typedef struct statistics {
  uint64_t count;
  double min, p25, median, p75, p90, p99, max;
  double mean;
  double iqr;  /* p75 - p25 */
  double mad;  /* median of the distances from the median */
  int figures; /* significant figures of the median that the spread supports, 1..STATISTICS_FIGURES */
} statistics;

/* The figures of `count` finite values in any order, which stay as they are; all zero when there are none. False on no
 * memory. */
bool statistics_make(const double *values, uint64_t count, statistics *out);

/* Measurement.significant_figures: 1.645 standard errors of the middle half, at least 25 ns, against the median. */
int statistics_figures(const double *sorted, uint64_t count);

/* `value` rounded to `figures` significant figures; 0 stays 0. */
double statistics_trim(double value, int figures);

/* The unit that a time is best read in. */
typedef struct time_unit {
  const char *symbol, *name; /* "us", "microsecond" */
  double s;                  /* of one */
} time_unit;
time_unit statistics_unit(double seconds);

#endif
