/* Parts of a step made slower by known times, to learn what the step does then (pdhost causal). Between the device and
 * all that calls it, so that any scenario on any device can be slowed down. One at a time in a process, since a
 * device's functions have no state of a caller's. [loop thread] */
#ifndef CORE_RUN_DELAYS_DELAYS_H
#define CORE_RUN_DELAYS_DELAYS_H

#include <pdhost/device.h>

/* What is made slower, what a reader sees, and how: each of these calls takes longer. */
#define DELAYS_MAP(X)                                                                                                  \
  X(host, "host", "the host waits before it launches a kernel")                                                        \
  X(input, "input", "the loader hands each batch out later")                                                           \
  X(kernels, "kernels", "the device is busy for longer with each kernel")                                              \
  X(copies, "copies", "each copy to the device takes longer")                                                          \
  X(reads, "reads", "each copy to the host takes longer")                                                              \
  X(syncs, "syncs", "each wait for the device takes longer; the loop's own are left out")                              \
  X(allocations, "allocations", "each allocation and release of device memory takes longer")

typedef enum delays_part {
#define X(key, text, how) DELAYS_##key,
  DELAYS_MAP(X)
#undef X
      DELAYS_COUNT
} delays_part;

const char *delays_name(delays_part part);
/* How it is slowed down, in a clause. */
const char *delays_how(delays_part part);

typedef struct delays delays;

/* NULL on no memory, or where one is open already. */
delays *delays_open(void);
void delays_close(delays *self);
/* From here on `access` leads through `self`, which outlives it. */
void delays_install(delays *self, pd_device_access *access);
/* The device can keep a stream busy, which kernels, copies and reads need. */
bool delays_has_spin(const delays *self);

/* From here on every `every`-th call of the part takes every * `each_ns` longer; of the host, what is due waits until
 * it is long enough to sleep. 0 ns: what makes the delay is still launched, so that it costs the same. Not of the
 * input. */
void delays_set(delays *self, delays_part part, double each_ns, uint64_t every);
/* No delays, nothing launched for any. */
void delays_clear(delays *self);

/* Calls of the part so far, with and without delay. */
uint64_t delays_calls(const delays *self, delays_part part);
/* Delays of the set part since it was set, in nanoseconds: measured on the host, asked for on the device. */
double delays_put_ns(const delays *self);

#endif
