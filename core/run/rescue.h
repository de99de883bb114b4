/* The outputs of a run whose process died, from its capture. */
#ifndef CORE_RUN_RESCUE_H
#define CORE_RUN_RESCUE_H

#include "config/config.h"

#include <sys/types.h>

/* Completes the capture that the board names by what the board still holds, and has its sinks write from it, in
 * processes of their own: a sink that dies in turn, or does not end, is left out and the rest begins anew. `reason`
 * stands in the outputs; `without` is the sink that is left out, NULL: none is. Prints what was done. Returns whether
 * every other sink wrote. */
bool rescue_outputs(const config *settings, pid_t worker, const char *reason, const char *without);

#endif
