/* What a step took on the device and what it lost, where that is known later than the step: filled in and handed to the
 * sinks. [loop thread] */
#ifndef CORE_RUN_STEP_TIMES_H
#define CORE_RUN_STEP_TIMES_H

#include "run_state.h"

/* The events of step `index`: a ring of RUN_STEP_EVENTS. */
step_events *step_times_events(run_state *run, uint64_t index);
/* Records an event after what the stream has been given, and makes the event where there is none yet. */
pd_status step_times_mark(run_state *run, pd_event **event);

/* Reads the device time of the oldest steps, so that at most `keep` of them are not read yet. The host's time of a step
 * that is not waited for is that of launching it: the iteration is the device's, too. */
pd_status step_times_read(run_state *run, uint64_t keep);
/* Losses of the steps since the last call. They are the kit's, so a scenario that does not use it has none: NaN. */
void step_times_losses(run_state *run);

/* Completes the rows of the log: device times of events and losses. Waits for the device; called outside windows. */
void step_times_settle(run_state *run);
/* Hands the steps not yet delivered to the sinks. */
void step_times_deliver(run_state *run);

#endif
