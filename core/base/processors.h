/* How many processors the calling thread may run on: of a machine that is shared, taskset, a batch system or a
 * container leaves a program only some. [any thread] */
#ifndef CORE_BASE_PROCESSORS_H
#define CORE_BASE_PROCESSORS_H

#include <sched.h>
#include <stdint.h>

/* At least 1: also where it is not known. */
static inline uint32_t processors_allowed(void) {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed) : 1;
}

#endif
