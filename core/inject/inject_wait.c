/* See inject_wait.h. A futex's time is relative, and of CLOCK_MONOTONIC. */
#include "inject_wait.h"

#include <pdhost/clocks.h>

#include <linux/futex.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Longer waits are made of several. */
#define SPAN_NS INT64_C(1000000000)

void inject_wait_tell(inject_event *self) {
  if (!atomic_exchange(self, 1)) (void)syscall(SYS_futex, self, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* What is left of `patience_ns`. */
static int64_t left_of(int64_t patience_ns, int64_t begun_ns) { return patience_ns - (pd_monotonic_ns() - begun_ns); }

bool inject_wait_for(inject_event *self, int64_t patience_ns) {
  const int64_t begun_ns = pd_monotonic_ns();
  while (!atomic_load(self)) {
    int64_t left_ns = left_of(patience_ns, begun_ns);
    if (left_ns <= 0) return false;
    if (left_ns > SPAN_NS) left_ns = SPAN_NS;
    const struct timespec span = {.tv_sec = (time_t)(left_ns / 1000000000), .tv_nsec = (long)(left_ns % 1000000000)};
    (void)syscall(SYS_futex, self, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0);
  }
  return true;
}

bool inject_wait_turn(inject_event *self, int64_t patience_ns) {
  const int64_t begun_ns = pd_monotonic_ns();
  while (inject_wait_for(self, left_of(patience_ns, begun_ns)))
    if (atomic_exchange(self, 0)) return true;
  return false;
}
