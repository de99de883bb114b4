/* What the draws of a sweep say: which key matters, and where one of two combinations is faster. [loop thread] */
#ifndef CORE_SWEEP_SWEEP_DRAWS_H
#define CORE_SWEEP_SWEEP_DRAWS_H

#include "sweep_found.h"

#include <stdio.h>

/* The rank correlation of each numeric key's values with the medians, for each combination of the axes; where those are
 * two, the ratio of both in each draw, of many the least and the largest. False on no memory. */
bool sweep_draws_print(const sweep_found *self);

/* CSV, a row per cell: the draw, each key's value, times in seconds; of two combinations, in the second one's row, its
 * ratio to the first. False on no memory. */
bool sweep_draws_write(const sweep_found *self, FILE *out);

#endif
