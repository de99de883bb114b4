/* A progress line on a terminal; silent in a pipe and with -q. [loop thread] */
#ifndef CORE_HOST_PROGRESS_H
#define CORE_HOST_PROGRESS_H

#include "run_state.h"

/* Shows step `index` of `planned` (0: not known), at most ten times a second. Returns whether a line was written. */
bool progress_step(const run_state *run, const char *what, uint64_t index, uint64_t planned);
/* Removes the line. */
void progress_clear(const run_state *run);

#endif
