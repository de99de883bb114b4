/* The capture of a run: what its sinks get, in a file that outlives it. run_replay.h is the way to them. [loop thread]
 */
#ifndef CORE_RUN_RUN_CAPTURE_H
#define CORE_RUN_RUN_CAPTURE_H

#include "run_state.h"
#include "config/config.h"

/* Begins the file in trace_dir and writes what is known of the run, where it is to be kept or the run has a supervisor.
 * A file that cannot be made or written gives one warning, and the run goes on without it. */
void run_capture_open(run_state *run, const config *settings, const pd_run *about);
/* Steps `from` to the end of the log, whose figures are known by now. */
void run_capture_steps(run_state *run, uint64_t from);
/* The window that was written last, as it goes to the sinks; the writer begins to read it. True: the disk had no room,
 * and it has to be written once more. */
bool run_capture_window(run_state *run, bool partial);
/* The writer reads what is new, and has read it when this returns; nothing without a writer. */
void run_capture_pass(run_state *run);
/* Windows are written to it again, where they were not. */
void run_capture_again(run_state *run);
/* Returns when the writer has read what it began with. */
void run_capture_wait(run_state *run);
/* What all ranks did together, where this is rank 0. */
void run_capture_ranks(run_state *run);
/* The end, before the sinks close. Names the file to the user where it is kept. */
void run_capture_end(run_state *run, const pd_summary *summary);
/* Everything is written: the file goes, unless it is kept, or `stays`, which is said. */
void run_capture_close(run_state *run, bool stays);

/* Says which captures runs left that were killed with all of their processes, in `folder` and at most `depth` folders
 * below, and what to do. */
void run_capture_look(const char *folder, int depth);

#endif
