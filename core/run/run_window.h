/* Active windows: the profiler's life cycle around them, and the trace of each to every sink. [loop thread] */
#ifndef CORE_RUN_RUN_WINDOW_H
#define CORE_RUN_RUN_WINDOW_H

#include "run_state.h"

/* Before step `at`: attaches, starts and opens the window where this step is the one to do so. Sets *worked when time
 * passed that belongs to no step. */
pd_status window_before_step(run_state *run, const schedule_at *at, bool *worked);

/* An active step is over. */
pd_status window_step_done(run_state *run, const recorder_step *step);

/* Ends the open window: stops and drains the profiler, merges, hands the trace to the sinks. Does nothing when no
 * window is open. `whole`: its last active step is done; else the trace is marked partial. A window without a step
 * reaches no sink, except after a failure. */
pd_status window_finish(run_state *run, bool whole);

/* Between two steps: begins or ends a pause where the user asked for it. An open window ends there, and the next active
 * step begins another one. *worked as for window_before_step. */
pd_status window_pause(run_state *run, bool *worked);

/* After the last window: gives the profiling library back. */
/* The window that `at` is of, and whether it begins there: later ones come after those that were split. */
void window_place(const run_state *run, schedule_at *at);
/* Ends the window where the memory may not hold another step of it, and says so once; the next step begins another
 * window. *worked as for window_before_step. */
pd_status window_split_full(run_state *run, bool *worked);

void window_detach(run_state *run);

#endif
