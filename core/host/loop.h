/* The training loop: warm-up steps, then the schedule, as workload.md has it. [loop thread] */
#ifndef CORE_HOST_LOOP_H
#define CORE_HOST_LOOP_H

#include "run_state.h"

/* Runs the warm-up steps, then the scheduled steps. The failure's cause is in run->failure. A signal or the end of the
 * data is no failure. */
pd_status loop_run(run_state *run);

/* Completes the rows of the log: device times of events and losses. Waits for the device; called outside windows. */
void loop_settle(run_state *run);

/* Marks the begin (0) and end (1) of a window's work on the device, and adds the time between the two up: the rate of
 * steps that are not synchronised is the device's, not that of launching them. Nothing with sync_timing. */
pd_status loop_mark_span(run_state *run, int which);
void loop_add_span(run_state *run, uint64_t steps);

/* Hands the steps not yet delivered to the sinks. */
void loop_deliver(run_state *run);

/* Steps the loop will do; 0: not known beforehand. */
uint64_t loop_planned_steps(const run_state *run);

#endif
