/*
 * One launching thread: what it was doing, as rows of CAPTURE_STATES. Where the kernel reports context switches the
 * rows begin and end at them, and looks at /proc say what the thread is blocked in; elsewhere they are made of the
 * looks alone.
 * What was not seen has no row. [main thread]
 */
#ifndef CORE_RECORD_HOST_HOST_THREAD_H
#define CORE_RECORD_HOST_HOST_THREAD_H

#include "host_sample.h"
#include "host_switches.h"

#include "capture/format.h"

enum { HOST_THREAD_ROWS = 256 };

/* Takes the rows of one thread. */
typedef void host_thread_emit(void *user, uint32_t thread, const capture_state *rows, uint32_t count);

typedef struct host_thread {
  host_probe probe;
  host_switches switches;
  uint32_t tid; /* as the program knows it */
  bool is_open, has_switches;
  capture_state now; /* state 0: not known; its end is not set */
  host_sample last;  /* state 0: none yet */
  /* Processor time of the process: at the last look, at the one before it, and at the last one before `now` began. */
  int64_t process_ns, process_before_ns, process_begun_ns;
  capture_state rows[HOST_THREAD_ROWS];
  uint32_t count;
  uint64_t taken; /* switches so far */
  host_thread_emit *emit;
  void *user;
} host_thread;

/* Zeroed but for `emit` and `user`. `with_switches` false: /proc alone is used. False: there is no such thread. */
bool host_thread_open(host_thread *self, pid_t pid, uint32_t tid, bool with_switches);
/* A look; `process_ns` is the processor time of the process now, -1: not known. False: the thread has ended. */
bool host_thread_look(host_thread *self, int64_t process_ns);
/* Gives what there is to `emit`; a state that has gone on for long is cut, so that what is known so far is there. */
void host_thread_flush(host_thread *self);
void host_thread_close(host_thread *self);

#endif
