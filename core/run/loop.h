/* The training loop: warm-up steps, then the schedule. [loop thread] */
#ifndef CORE_RUN_LOOP_H
#define CORE_RUN_LOOP_H

#include "run_state.h"

/* Runs the warm-up steps, then the scheduled steps. The failure's cause is in run->failure. A signal or the end of the
 * data is no failure. */
pd_status loop_run(run_state *run);

/* Steps the loop will do; 0: not known beforehand. */
uint64_t loop_planned_steps(const run_state *run);

#endif
