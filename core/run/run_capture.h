/* The capture of a run: what its sinks get, in a file that outlives it. run_replay.h is the way back. [loop
 * thread] */
#ifndef CORE_RUN_RUN_CAPTURE_H
#define CORE_RUN_RUN_CAPTURE_H

#include "run_state.h"
#include "config/config.h"

/* Begins the file in trace_dir and writes what is known of the run, where it is to be kept or the run has a supervisor.
 * Of a file that cannot be made or written there is one warning, and the run goes on without it. */
void run_capture_open(run_state *run, const config *settings, const pd_run *about);
/* Steps `from` to the end of the log, whose figures are known by now. */
void run_capture_steps(run_state *run, uint64_t from);
/* The window that was merged last, as it goes to the sinks. */
void run_capture_window(run_state *run, const pd_trace *trace);
/* The end, before the sinks close. Names the file to the user where it is kept. */
void run_capture_end(run_state *run, const pd_summary *summary);
/* Everything is written: the file goes, unless it is kept. */
void run_capture_close(run_state *run);

/* Says which captures of `folder` a run left that was killed with all of its processes, and what to do. */
void run_capture_look(const char *folder);

#endif
