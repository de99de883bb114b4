/* Notices that the process stood still: stopped by a signal or a debugger, in a frozen container, or on a machine that
 * did not run. A thread wakes a few times a second, and looks whether it was woken far too late. One for the whole
 * process. [any thread] */
#ifndef CORE_RUN_HEARTBEAT_H
#define CORE_RUN_HEARTBEAT_H

#include <stdbool.h>

/* Calls nest. False: no thread could be started, and nothing will be noticed; heartbeat_end is due all the same. */
bool heartbeat_begin(void);
void heartbeat_end(void);

/* Seconds that it stood still so far, a second or more each time: the difference of two calls between begin and end. */
double heartbeat_stopped_s(void);

#endif
