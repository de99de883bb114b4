/* How fine the clocks of a trace are: the largest step that all of its times are multiples of. */
#ifndef CORE_CHECK_CHECK_CLOCK_H
#define CORE_CHECK_CHECK_CLOCK_H

#include "check_rows.h"

typedef struct check_clock {
  int64_t host_ns, device_ns; /* 0: fewer than CHECK_CLOCK_ROWS events, not known */
} check_clock;

enum {
  CHECK_CLOCK_ROWS = 8, /* a clock of 1 ns does not look coarse by chance in this many events */
  CHECK_COARSE_NS = 500 /* from here on a clock is coarse: a kernel's length is a few microseconds */
};

/* Finds coarse clocks and times that were lost, and says how fine the clocks are. */
check_clock check_clocks(const check_rows *rows, check_findings *findings);
/* By how much times of that clock may be off: 1 ns for what is rounded to nanoseconds. */
int64_t check_clock_slack(int64_t quantum_ns);

#endif
