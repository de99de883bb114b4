/*
 * How many processors the calling thread may run on. On a shared machine, taskset, a batch system or a container's
 * cpuset may leave a program only some of them; a quota of time (cgroup cpu.max) does not count. Behind the GNU C
 * library: build with -std=gnu11 -D_GNU_SOURCE. [any thread]
 */
#ifndef PDHOST_PROCESSORS_H
#define PDHOST_PROCESSORS_H

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#ifdef CPU_COUNT
#ifdef __cplusplus
extern "C" {
#endif

/* All of the machine's where it is not known, as with more than 1024 of them; at least 1. */
static inline uint32_t pd_processors_allowed(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return (uint32_t)CPU_COUNT(&allowed);
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  return all > 0 ? (uint32_t)all : 1;
}

#ifdef __cplusplus
}
#endif
#endif

#endif
