/* What the run's steps take without the profiler: before it was there, and in turns with recorded ones. [loop thread]
 */
#ifndef CORE_RUN_UNPROFILED_H
#define CORE_RUN_UNPROFILED_H

#include <pdhost/trace.h>

#include <stdbool.h>
#include <stdint.h>

enum { UNPROFILED_KEPT = 32, UNPROFILED_LEAST = 3 };

/* The steps of one kind in a round of the twin (config/schedule.h). */
typedef struct twin_block {
  double sum_ns;
  uint64_t count;
} twin_block;

typedef struct twin_round {
  twin_block recorded, without;
} twin_round;

typedef struct unprofiled {
  int64_t ns[UNPROFILED_KEPT]; /* the latest before the profiler, in no order */
  uint64_t count;              /* of all there were */
  int64_t pace_ns;             /* of a loop that does not wait for its steps; 0: not measured */
  twin_round *rounds;          /* of the window */
  uint64_t round_count, round_room;
} unprofiled;

/* Adds a step of a loop that waits for each of its steps. `step_ns`: from when the step has its batch to its end. */
void unprofiled_add(unprofiled *self, int64_t step_ns);
/* As pd_trace.unprofiled_step_ns: the pace, else the median of the steps; 0 with fewer than UNPROFILED_LEAST of them.
 */
int64_t unprofiled_step(const unprofiled *self);

/* A window begins. */
void unprofiled_twin_begin(unprofiled *self);
/* A step of round `round`, recorded or not. False on no memory. */
bool unprofiled_twin_add(unprofiled *self, uint64_t round, bool recorded, int64_t step_ns);
/* What recording adds to a step, of the rounds that have both blocks; all 0 where there are fewer than two. The
 * difference of the mean steps of a round's blocks is one measurement; resample_differences makes an estimate and its
 * interval of them, as `pdhost ab` does of ratios: what a record costs does not grow with the step. False on no memory.
 */
bool unprofiled_twin_cost(const unprofiled *self, pd_twin *out);
void unprofiled_close(unprofiled *self);

#endif
