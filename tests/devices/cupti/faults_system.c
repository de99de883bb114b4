/* Functions of the system that the product and the fake call, as a test wants them. */
#include "faults_system.h"

/* The product and the fake see this clock: a test can set it, and hold other threads up around a reading. */
_Atomic int64_t realtime_step_ns;
_Atomic int hold_ups;
static const struct timespec hold_up = {.tv_nsec = 3000000};
PD_EXPORT int clock_gettime(clockid_t clock, struct timespec *at);
int clock_gettime(clockid_t clock, struct timespec *at) {
  const bool held = clock == CLOCK_REALTIME && gettid() != getpid() && atomic_load(&hold_ups) > 0;
  if (held) nanosleep(&hold_up, NULL);
  long failed = syscall(SYS_clock_gettime, clock, at);
  if (held) nanosleep(&hold_up, NULL), atomic_fetch_sub(&hold_ups, 1);
  if (!failed && clock == CLOCK_REALTIME) at->tv_sec += (time_t)(atomic_load(&realtime_step_ns) / SECOND_NS);
  return (int)failed;
}

/* The pool asks for the thread's id inside its callback: one thread can be held there. */
_Thread_local bool held_inside;
_Atomic bool inside_now, let_go, closed;
PD_EXPORT pid_t gettid(void);
pid_t gettid(void) {
  if (held_inside) {
    atomic_store(&inside_now, true);
    while (!atomic_load(&let_go)) sched_yield();
  }
  return (pid_t)syscall(SYS_gettid);
}

/* How many large buffers were mapped by other threads than the first. */
_Atomic int mapped_beside;
PD_EXPORT int madvise(void *at, size_t bytes, int advice);
int madvise(void *at, size_t bytes, int advice) {
  atomic_fetch_add(&mapped_beside, gettid() != getpid());
  return (int)syscall(SYS_madvise, at, bytes, advice);
}
