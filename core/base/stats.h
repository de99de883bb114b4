/* Order statistics of a sample. Percentiles interpolate linearly, as numpy's default does. */
#ifndef CORE_BASE_STATS_H
#define CORE_BASE_STATS_H

#include <pdhost/sink.h>

/* Puts finite values in rising order. */
void stats_sort(double *values, uint64_t count);
/* The spread of `count` finite values in any order; sorts them in place. min <= p10 <= median <= p90 <= max and min <=
 * mean <= max hold exactly: the mean is clamped, so that rounding cannot break it. */
pd_spread stats_spread(double *values, uint64_t count);
/* `quantile` in 0..1 of `count` sorted values; 0 of none. */
double stats_quantile(const double *sorted, uint64_t count, double quantile);
/* Significant digits, 3 to 5, for figures that tell of `count` values: one more than the 90 % confidence interval of
 * their middle half leaves certain for their median, as torch.utils.benchmark has it. The interval is never taken as
 * less than 25e-9, by which the clock itself may be off, for times in seconds. Sorts the values. */
uint32_t stats_digits(double *values, uint64_t count);

#endif
