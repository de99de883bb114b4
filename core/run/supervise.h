/*
 * A run in a process of its own, which may die in any way, and its sinks in another: the supervisor waits for both,
 * hands on signals, says in one line what ended one, and has the outputs written from the capture. It calls no plugin.
 */
#ifndef CORE_RUN_SUPERVISE_H
#define CORE_RUN_SUPERVISE_H

#include "config/config.h"

/* What ps and top call the process of a run, beside the supervisor and the writer. */
#define WORKER_NAME "pdhost worker"

/* Runs `body` in a worker and returns its exit code, or the code that its end means. It also returns in the worker,
 * with what `body` returned: that process then ends as it would have without a supervisor. Where no worker can be made
 * `body` runs in this process, which is said. [main thread; there is no other yet] */
int supervise_run(config *settings, int (*body)(config *settings));

#endif
