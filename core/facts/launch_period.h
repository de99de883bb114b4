/* The period of a sequence of launches. Part of step_finder.h; pure, so that tests write sequences by hand. */
#ifndef CORE_FACTS_LAUNCH_PERIOD_H
#define CORE_FACTS_LAUNCH_PERIOD_H

#include <pdhost/trace.h>

typedef struct launch_at {
  uint32_t symbol; /* equal for equal kernels of equal grids */
  uint32_t call;
  bool optimizer; /* only an optimizer launches such a kernel */
} launch_at;

/* A copy from the host, before launch `before`. */
typedef struct launch_copy {
  uint64_t bytes, before;
  uint32_t call;
} launch_copy;

typedef struct launch_sequence {
  launch_at *launches;
  uint64_t count;
  launch_copy *copies;
  uint64_t copy_count;
  uint32_t symbols; /* distinct ones: 0 to symbols - 1 */
} launch_sequence;

typedef struct launch_period {
  uint64_t length; /* launches; 0: there is none */
  uint64_t phase;  /* the first launch that begins a period, below `length` */
  double match;
  const char *why; /* where there is none */
} launch_period;

/* PD_NO_MEMORY is the one failure. */
pd_status launch_period_find(const launch_sequence *launches, launch_period *out);

#endif
