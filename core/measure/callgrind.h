/* [benchmark] callgrind: counts the instructions of a step by running this program once more under Valgrind's
 * Callgrind, as torch.utils.benchmark's Timer.collect_callgrind does. [loop thread] */
#ifndef CORE_MEASURE_CALLGRIND_H
#define CORE_MEASURE_CALLGRIND_H

#include "config/config.h"

#include "instructions.h"

/* Set in the environment of the program that Callgrind runs, and by nothing else: it warms up, runs the loops that are
 * counted, and writes nothing. Its value is the process that began it. */
#define CALLGRIND_CHILD "PDHOST_CALLGRIND_CHILD"

/* Counts what `settings` configure into an empty `out`. The exit code; the line of a failure is printed, and `out`
 * stays empty. A signal (signals.h), and callgrind_max_time, end it. */
int callgrind_count(const config *settings, pd_instructions *out);

/* What the program does that Callgrind runs. The exit code. */
int callgrind_child(config *settings);

#endif
