/* A kernel that only takes time. */
#include "cpu_ops.h"

#include <pdhost/clocks.h>

#include <time.h>

typedef struct spin_arguments {
  int64_t ns;
} spin_arguments;

/* A sleep would give the core away and come back late. */
static pd_status run_spin(pd_stream *stream, void *arguments) {
  (void)stream;
  const int64_t until = pd_monotonic_ns() + ((const spin_arguments *)arguments)->ns;
  while (pd_monotonic_ns() < until) {}
  return PD_OK;
}

pd_status cpu_spin(pd_device *device, pd_stream *stream, int64_t ns) {
  static pd_site site = PD_SITE("spin", 0);
  const spin_arguments p = {ns};
  if (ns < 0) return refuse(device, "spin");
  return cpu_stream_kernel(stream, &site, run_spin, &p, sizeof p);
}
