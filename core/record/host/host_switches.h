/* The moments at which a thread of another process was given a processor and left it, by perf_event_open(2), which
 * needs no rights up to perf_event_paranoid 2. Context switches of the thread are all that it asks for. [main thread]
 */
#ifndef CORE_RECORD_HOST_HOST_SWITCHES_H
#define CORE_RECORD_HOST_HOST_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct host_switches {
  int fd; /* -1: not open */
  void *map;
} host_switches;

typedef enum host_switch {
  HOST_SWITCH_IN,
  HOST_SWITCH_OUT,       /* it waits for something */
  HOST_SWITCH_PREEMPTED, /* it could have run on */
  HOST_SWITCH_LOST       /* some before this one are missing */
} host_switch;

/* False: it is not allowed, or there is no such thread; errno says which. */
bool host_switches_open(host_switches *self, pid_t tid);
void host_switches_close(host_switches *self);
/* All that came since the last time, in order; times are CLOCK_REALTIME. */
void host_switches_take(host_switches *self, void (*take)(void *user, host_switch what, int64_t ns), void *user);

#endif
