/* A kernel that only takes time. */
#include "cpu_ops.h"

#include <time.h>

typedef struct spin_arguments {
  int64_t ns;
} spin_arguments;

static int64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A sleep would give the core away and come back late. */
static pd_status run_spin(pd_stream *stream, void *arguments) {
  (void)stream;
  const int64_t until = monotonic_ns() + ((const spin_arguments *)arguments)->ns;
  while (monotonic_ns() < until) {}
  return PD_OK;
}

pd_status cpu_spin(pd_device *device, pd_stream *stream, int64_t ns) {
  static pd_site site = PD_SITE("spin", 0);
  const spin_arguments p = {ns};
  if (ns < 0) return refuse(device, "spin");
  return stream_kernel(stream, &site, run_spin, &p, sizeof p);
}
