/* The training loop: warm-up steps, then the schedule, as workload.md has it. [loop thread] */
#ifndef CORE_RUN_LOOP_H
#define CORE_RUN_LOOP_H

#include "run_state.h"

/* Runs the warm-up steps, then the scheduled steps. The failure's cause is in run->failure. A signal or the end of the
 * data is no failure. */
pd_status loop_run(run_state *run);

/* Completes the rows of the log: device times of events and losses. Waits for the device; called outside windows. */
void loop_settle(run_state *run);

/* Hands the steps not yet delivered to the sinks. */
void loop_deliver(run_state *run);

/* Steps the loop will do; 0: not known beforehand. */
uint64_t loop_planned_steps(const run_state *run);

#endif
