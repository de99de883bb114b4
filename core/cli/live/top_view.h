/* What `pdhost top` shows of a board. [main thread] */
#ifndef CORE_CLI_LIVE_TOP_VIEW_H
#define CORE_CLI_LIVE_TOP_VIEW_H

#include "run/board.h"

#include <stdio.h>

/* The steps that ended within the last second. */
typedef struct top_second {
  uint64_t steps;
  double median_ns, least_ns, most_ns; /* of an iteration: the end of the step before to the end of the step */
  double wait, step, between; /* shares of these iterations: for data, in the step, the rest; they add up to 1 */
} top_second;

/* `now_realtime_ns`: CLOCK_REALTIME. All zero where no step ended. False on no memory. */
bool top_view_second(const board *of, int64_t now_realtime_ns, top_second *out);

/* The whole view; `now_ns`: CLOCK_MONOTONIC. False on no memory. */
bool top_view_print(const board *of, int64_t now_realtime_ns, int64_t now_ns, FILE *out);

#endif
