/* SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup): the first asks the run to end and write its
 * results, the second ends the process at once, and says so; the same one again within half a second is no second one.
 * SIGPIPE and SIGXFSZ are ignored meanwhile: the write that met them fails. */
#ifndef CORE_BASE_SIGNALS_H
#define CORE_BASE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* These pause and resume a recording, of a run or of `pdhost record`. No other program sends them. */
#define SIGNALS_PAUSE (SIGRTMIN + 1)
#define SIGNALS_RESUME (SIGRTMIN + 2)

/* Installs the handlers; `wake` (may be NULL) is called from the handler, on this thread, and must be
 * async-signal-safe. */
void signals_install(void (*wake)(void *), void *argument);
/* This process does its work for `parent`, which is to know of its end: a signal that comes when the parent is gone
 * ends the process after a minute, if it has not ended by then. 0: no process. */
void signals_serve(int parent);

/* Restores what was there before. */
void signals_restore(void);

/* Those two are heard by this process from now on, and ignored after signals_restore. */
void signals_hear_pauses(void);
/* Whether the recording is to be paused now. */
bool signals_paused(void);

/* The number of the signal that asked for the end, or 0. */
int signals_pending(void);
/* "SIGINT" for 2, and so on. */
const char *signals_name(int number);

#endif
