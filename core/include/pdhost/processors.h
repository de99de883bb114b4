/*
 * How many processors the calling thread may run on: of a machine that is shared, taskset, a batch system or a
 * container leaves a program only some. Behind the GNU C library: build with -std=gnu11 -D_GNU_SOURCE. [any thread]
 */
#ifndef PDHOST_PROCESSORS_H
#define PDHOST_PROCESSORS_H

#include <sched.h>
#include <stdint.h>

#ifdef CPU_COUNT
#ifdef __cplusplus
extern "C" {
#endif

/* At least 1: also where it is not known. */
static inline uint32_t pd_processors_allowed(void) {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed) : 1;
}

#ifdef __cplusplus
}
#endif
#endif

#endif
