/* Sets the scenario's dial from control steps ([scenario] inject_us, inject_share). [loop thread] */
#ifndef CORE_RUN_TRUTH_DIAL_RUN_H
#define CORE_RUN_TRUTH_DIAL_RUN_H

#include "run/run_state.h"

/* What the search may take, and what the rounds may that say what came of it. */
#define DIAL_RUN_LIMIT_NS INT64_C(10000000000)
#define DIAL_RUN_ROUNDS_NS INT64_C(5000000000)

/* Blocks of steps with and without the injection in turns, outside the profiler, until the step takes the time that was
 * asked for; from then on the run's steps have that amount. Nothing where nothing was asked for. */
pd_status dial_run(run_state *run);

#endif
