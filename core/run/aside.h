/* Steps that no output shows, on an iterator of their own: to warm up, or to be timed without a profiler.
 * [loop thread] */
#ifndef CORE_RUN_ASIDE_H
#define CORE_RUN_ASIDE_H

#include "run_state.h"
#include "truth/truth_effect.h"

typedef struct aside {
  uint64_t steps, timed; /* timed: how many of the last ones */
  bool control;          /* without what the scenario injects */
  bool typical;          /* from the third on like the scheduled steps, but without a profiler */
  bool may_end;          /* where the data ends, a mean of fewer will do: of UNPROFILED_LEAST */
  double mean_ns;        /* of a timed one, its wait for data included; NaN: the data ended before */
} aside;

/* PD_STOP: the scenario asked for the end of the run. The end of the data ends these steps alone. */
pd_status aside_steps(run_state *run, aside *self);

/* Steps with what the scenario injects and steps without, in turns that are as short as can be timed: a machine's pace
 * changes within a few steps. */
enum { ASIDE_PAIRS_MOST = 64 };
typedef struct aside_turns {
  uint64_t timed;                           /* steps of either kind, rounded up to whole turns */
  uint64_t count;                           /* 0: the data ended before */
  truth_block_pair pairs[ASIDE_PAIRS_MOST]; /* of timed steps, their waits for data included */
} aside_turns;

pd_status aside_turns_run(run_state *run, aside_turns *self);

/* As many steps as the loader needs to reach its usual pace. */
uint64_t aside_to_settle(const run_state *run);

#endif
