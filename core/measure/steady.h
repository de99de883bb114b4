/*
 * The end of a warm-up: blocks are taken until their times no longer trend. The last window of them, 8 to 20 blocks, is
 * steady when Mann-Kendall's test sees no trend in it (|z| <= 2.576: one window in a hundred without a trend fails it),
 * or when the trend that it sees is worth less than 1 % from the window's begin to its end (Theil and Sen's slope: the
 * median of all slopes between two blocks, which a few disturbed blocks do not move). Windows overlap, so that what has
 * no trend passes soon, and what has one does not until it ends.
 */
#ifndef CORE_MEASURE_STEADY_H
#define CORE_MEASURE_STEADY_H

#include "timer.h"

enum { STEADY_LEAST_BLOCKS = 8, STEADY_MOST_BLOCKS = 20 };

typedef struct steady_rules {
  double window_s;   /* what a window takes, about: as long as the measurement, so that both see the same trends */
  double max_time_s; /* of all blocks together; 0: nothing is looked for */
  timer_clock clock; /* as timer_rules has it: max_time_s counts by it, too */
} steady_rules;

/* Fills `warm_up` of a measurement and adds a warning where the blocks never settled. Ends whatever the clock says.
 * PD_STOP and failures of `block` end it and are returned. */
pd_status steady_wait(const steady_rules *rules, timer_block block, void *user, pd_measurement *out);

/* The trend of `count` times in the order in which they were taken, 2..STEADY_MOST_BLOCKS: the change from the first to
 * the last that their slope makes, as a share of their median, and Mann-Kendall's z. [any thread] */
typedef struct steady_trend {
  double change, z;
} steady_trend;
steady_trend steady_trend_of(const double *times, uint64_t count);

/* "off", "steady", "trend", "too few blocks" */
const char *steady_name(pd_settled decided);

#endif
