/* The system's clocks in nanoseconds. Any thread. */
#ifndef DEVICES_CUDA_CUPTI_CLOCK_H
#define DEVICES_CUDA_CUPTI_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t cupti_now_ns(clockid_t clock) {
  struct timespec at;
  clock_gettime(clock, &at);
  return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

#endif
