/* What the blocks of rounds A B B A, B A A B say: one ratio a round, in logarithms; of each restart the trimmed mean of
 * its rounds; and the ratio of the whole from those. [any thread] */
#ifndef CORE_COMPARE_ROUNDS_H
#define CORE_COMPARE_ROUNDS_H

#include "comparison.h"

#include "measure/measurement.h"

typedef struct rounds {
  const double *a, *b;            /* times of each side, two a round, all above 0 */
  const uint64_t *restart_rounds; /* rounds of each restart, together those of a and b */
  uint64_t restart_count;
} rounds;

/* Fills everything but the verdict. False on no memory. */
bool rounds_ratio(const rounds *self, paired_ratio *out);

/* The rounds of two measurements that one `pdhost ab` took in turns, in either order; `a` and `b` are their times.
 * False: they are not such a pair. */
bool rounds_of(const pd_measurement *a_of, const double *a, const pd_measurement *b_of, const double *b, rounds *out);

#endif
