/* Figures with as many digits as their spread supports. */
#ifndef SINKS_TABLE_FIGURES_H
#define SINKS_TABLE_FIGURES_H

#include <stddef.h>
#include <stdint.h>

/* Digits, 1..4, that the middle half of `count` values supports for their median: the confidence interval of
 * torch.utils.benchmark, never below 25 ns. Sorts the values, which are in seconds. */
int figures_digits(double *values_s, uint64_t count);
/* `value` with `digits` significant digits, in plain notation. */
void figures_write(char *out, size_t room, double value, int digits);
/* Of sorted values, between neighbours linearly; 0 of none. */
double figures_quantile(const double *sorted, uint64_t count, double quantile);

#endif
