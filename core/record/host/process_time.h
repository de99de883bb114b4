/* Processor time of another process, of all its threads. [main thread] */
#ifndef CORE_RECORD_HOST_PROCESS_TIME_H
#define CORE_RECORD_HOST_PROCESS_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct process_time {
  clockid_t clock;
  bool is_open;
} process_time;

/* False: there is no such process. */
bool process_time_open(process_time *self, pid_t pid);
/* What it has used so far, in ns; -1: it has ended, or it was not open. The system adds a thread's time when it leaves
 * the processor, and every few milliseconds while it runs. */
int64_t process_time_ns(const process_time *self);

#endif
