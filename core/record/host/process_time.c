/* See process_time.h. */
#include "process_time.h"

#include <time.h>

bool process_time_open(process_time *self, pid_t pid) {
  self->is_open = clock_getcpuclockid(pid, &self->clock) == 0;
  return self->is_open;
}

int64_t process_time_ns(const process_time *self) {
  struct timespec used;
  if (!self->is_open || clock_gettime(self->clock, &used) != 0) return -1; /* pd_clock_ns does not tell */
  return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}
