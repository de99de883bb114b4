/* The period of a sequence of launches. Part of step_finder.h; pure, so that tests write sequences by hand. */
#ifndef CORE_FACTS_LAUNCH_PERIOD_H
#define CORE_FACTS_LAUNCH_PERIOD_H

#include <pdhost/trace.h>

typedef struct launch_at {
  uint32_t symbol; /* equal for equal kernels of equal grids, and for copies to the host */
  uint32_t call;
  uint32_t gap_ns;   /* what the host's thread did between the launch before and this one; the most a uint32_t holds */
  bool optimizer;    /* only an optimizer launches such a kernel */
  bool to_host;      /* a copy of results, which ends a step rather than begins one */
  int64_t device_ns; /* how long it takes the device */
} launch_at;

/* A copy from the host, before launch `before`. */
typedef struct launch_copy {
  uint64_t bytes, before;
  uint32_t call;
  int64_t device_ns;
} launch_copy;

typedef struct launch_sequence {
  launch_at *launches;
  uint64_t count;
  launch_copy *copies;
  uint64_t copy_count;
  uint32_t symbols; /* distinct ones: 0 to symbols - 1 */
} launch_sequence;

typedef struct launch_period {
  uint64_t length;  /* launches; 0: there is none */
  uint64_t *starts; /* the first launch of each step, and at the end the launch after the last step; to free() */
  uint64_t count;   /* steps */
  double match;     /* of the launches of the loop, the share that equals the one a period later */
  const char *why;  /* where there is none */
} launch_period;

/* The loop may be a part of the sequence, at least half of it: what comes before and after it is left out. Launches
 * that come in now and then, such as those of a log, lengthen their step and move no later one. The only failure is
 * PD_NO_MEMORY. */
pd_status launch_period_find(const launch_sequence *launches, launch_period *out);

#endif
