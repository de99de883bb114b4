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
} schedule;

typedef struct schedule_at {
  pd_phase phase;
  uint32_t window;   /* of a warm-up or active step: from 0; else PD_NONE */
  bool warmup_first; /* the first step of this window that the profiler sees, active when warmup is 0 */
  bool active_first, active_last;
} schedule_at;

/* What step `step` of the loop, from 0, is. Past the last cycle: PD_PHASE_SKIP. */
schedule_at schedule_step(const schedule *plan, uint64_t step);

/* Steps of the whole loop; SCHEDULE_FOREVER when the schedule does not end it. */
uint64_t schedule_total(const schedule *plan);

/* Paddle's plain range [start, end) of steps to record: one warm-up step before it where there is room.
 * end > start. */
schedule schedule_from_range(uint64_t start, uint64_t end);

#endif
