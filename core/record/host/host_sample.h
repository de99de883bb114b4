/* What a thread of another process is doing, as /proc shows it: no special rights are needed for one's own programs,
 * and the thread does not notice. [main thread] */
#ifndef CORE_RECORD_HOST_HOST_SAMPLE_H
#define CORE_RECORD_HOST_HOST_SAMPLE_H

#include <pdhost/trace.h>

#include <sys/types.h>

typedef struct host_sample {
  int64_t before_ns, after_ns; /* CLOCK_REALTIME around the look */
  pd_host_state state;         /* 0: it could not be seen */
  char detail[36];             /* of a blocking call: "read() of a pipe" */
  bool has_schedule;           /* the next two are known */
  uint64_t delayed_ns;         /* so far without a processor though it could run */
  uint64_t turns;              /* how often it was given a processor so far */
} host_sample;

/* The files of one thread. */
typedef struct host_probe {
  pid_t pid, tid;
  int syscall, stat, wchan, schedule; /* -1: not there */
} host_probe;

/* False: there is no such thread. Close it in any case. */
bool host_probe_open(host_probe *self, pid_t pid, pid_t tid);
void host_probe_close(host_probe *self);
/* `schedule`: with has_schedule, too. False: the thread has ended. */
bool host_probe_look(const host_probe *self, bool schedule, host_sample *out);

#endif
