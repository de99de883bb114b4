/* Counts in 30 buckets, as TensorBoard's histograms plugin draws them. [any thread] */
#ifndef SINKS_TENSORBOARD_HISTOGRAM_H
#define SINKS_TENSORBOARD_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 30 };

/* Fills `rows` with (left, right, count) of the `count` values; the last bucket holds its right end. Buckets are
 * equally wide, or in a constant ratio where the largest value is more than 100 times the smallest. Returns the number
 * of rows: 0 without values. */
uint32_t histogram_fill(const double *values, uint64_t count, double rows[HISTOGRAM_BUCKETS * 3]);

#endif
