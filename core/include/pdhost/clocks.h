/*
 * The system's clocks in nanoseconds, for spans of time within a plugin. The times of a trace come from the recorder
 * (record.h). Behind POSIX: build with -std=gnu11, or with -D_POSIX_C_SOURCE=200809L. [any thread, and a signal's
 * handler]
 */
#ifndef PDHOST_CLOCKS_H
#define PDHOST_CLOCKS_H

#include <stdint.h>
#include <time.h>

#ifdef CLOCK_MONOTONIC
#ifdef __cplusplus
extern "C" {
#endif

/* 0: the clock cannot be read, as that of a process that has ended. */
static inline int64_t pd_clock_ns(clockid_t clock) {
  struct timespec now = {0, 0};
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Never set back: for spans of time. */
static inline int64_t pd_monotonic_ns(void) { return pd_clock_ns(CLOCK_MONOTONIC); }

/* The time of `clock` when it is `ns` >= 0 further, for a wait that ends at a time. */
static inline struct timespec pd_clock_after(clockid_t clock, int64_t ns) {
  const int64_t at = pd_clock_ns(clock) + ns;
  struct timespec after;
  after.tv_sec = (time_t)(at / 1000000000);
  after.tv_nsec = (long)(at % 1000000000);
  return after;
}

#ifdef __cplusplus
}
#endif
#endif

#endif
