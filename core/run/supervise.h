/*
 * A run in a process of its own, which may die in any way: the supervisor waits for it, hands on signals, says in one
 * line what ended it, and has the outputs written from its capture. The supervisor calls no plugin.
 */
#ifndef CORE_RUN_SUPERVISE_H
#define CORE_RUN_SUPERVISE_H

#include "config/config.h"

/* What ps and top call the processes of a run, beside the supervisor. */
#define WORKER_NAME "pdhost worker"
#define WRITER_NAME "pdhost writer"

/* Runs `body` in a worker and returns its exit code, or the code that its end means. In the worker this returns too,
 * with what `body` returned: the process then ends as it would have without a supervisor. Where no worker can be made
 * `body` runs in this process, which is said. [main thread; there is no other yet] */
int supervise_run(config *settings, int (*body)(config *settings));

#endif
