/* The schedule: which step is skipped, waits, warms the profiler up or is recorded. torch.profiler.schedule's meaning,
 * step for step. */
#ifndef CORE_CONFIG_SCHEDULE_H
#define CORE_CONFIG_SCHEDULE_H

#include <pdhost/scenario.h>

#define SCHEDULE_FOREVER UINT64_MAX

typedef struct schedule {
  uint64_t skip_first, wait, warmup;
  uint64_t active; /* SCHEDULE_FOREVER: record from then on */
  uint64_t repeat; /* 0: cycle until something else ends the loop */
  /* Recorded steps take turns with as many that are not, in blocks of this many; 0: there are none of those. A round is
   * a block of either kind, in the order A B, B A, A B, ..., so that a slow change of the machine is in both. */
  uint64_t twin;
} schedule;

typedef struct schedule_at {
  pd_phase phase;
  uint32_t window;   /* of a warm-up or active step: from 0; else PD_NONE */
  bool warmup_first; /* the first step of this window that the profiler sees, active when warmup is 0 */
  bool active_first, active_last;
  bool window_last; /* the last step of its window, active or not */
  bool off, on;     /* within a window: the profiler goes off, or on again, before this step */
  bool goes_on;     /* an active step whose step before is not of its window */
  bool in_round;    /* it belongs to a round of the twin; the first step after `off` or `on` belongs to none, since it
                       settles */
  uint64_t round;   /* from 0 */
} schedule_at;

/* What step `step` of the loop, from 0, is. Past the last cycle: PD_PHASE_SKIP. */
schedule_at schedule_step(const schedule *plan, uint64_t step);

/* Steps from a window's first active one to its last step; SCHEDULE_FOREVER: it does not end by itself. */
uint64_t schedule_window_length(const schedule *plan);

/* Steps of the whole loop; SCHEDULE_FOREVER when the schedule does not end it. */
uint64_t schedule_total(const schedule *plan);

/* Paddle's plain range [start, end) of steps to record: one warm-up step before it where there is room.
 * end > start. */
schedule schedule_from_range(uint64_t start, uint64_t end);

#endif
