/* One sample against another that was measured before or after it. [any thread] */
#ifndef CORE_COMPARE_SAMPLE_RATIO_H
#define CORE_COMPARE_SAMPLE_RATIO_H

#include "comparison.h"
#include "samples.h"

typedef struct sample_ratio {
  resample_ratio of; /* B's time over A's */
  uint64_t count;    /* blocks of the side that has fewer */
  outcome found;
  bool timeless; /* a time is zero, so there is no ratio: the rest is 0 */
} sample_ratio;

/* Whether each of its times is above 0. */
bool sample_takes_time(const sample *self);
/* The draws come from a fixed seed: the same data give the same answer. False on no memory. */
bool sample_ratio_of(const sample *a, const sample *b, double margin, sample_ratio *out);

#endif
