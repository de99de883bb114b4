/* The steps of [truth] interleave. [loop thread] */
#ifndef CORE_RUN_TRUTH_INTERLEAVE_H
#define CORE_RUN_TRUTH_INTERLEAVE_H

#include "run/run_state.h"

/* The injection's effect on the step: blocks with it and without it in turn, the order changing from round to round, so
 * that what drifts with time hits all alike; with a loader that injects beside the scenario, without either. Outside
 * the profiler. */
pd_status interleave_run(run_state *run);

#endif
