/* Spearman's rank correlation: how far one thing grows with another, whatever the shape of the curve. [any thread] */
#ifndef CORE_BASE_RANK_CORRELATION_H
#define CORE_BASE_RANK_CORRELATION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rank_correlation {
  double rho; /* -1 .. 1, as scipy.stats.spearmanr's; NaN: fewer than three values, or all of x or of y are equal */
  double p;   /* of one this far from 0 where there is none: 999 shuffles with a fixed seed; NaN where rho is */
} rank_correlation;

/* Equal values share the mean of their ranks. False on no memory. */
bool rank_correlation_make(const double *x, const double *y, uint64_t count, rank_correlation *out);

#endif
