/* See unprofiled.h. */
#include "unprofiled.h"

#include "base/stats.h"

#include <math.h>

void unprofiled_add(unprofiled *self, int64_t step_ns) { self->ns[self->count++ % UNPROFILED_KEPT] = step_ns; }

int64_t unprofiled_median(const unprofiled *self) {
  const uint64_t count = self->count < UNPROFILED_KEPT ? self->count : UNPROFILED_KEPT;
  double values[UNPROFILED_KEPT];
  if (count < UNPROFILED_LEAST) return 0;
  for (uint64_t i = 0; i < count; i++) values[i] = (double)self->ns[i];
  return (int64_t)llround(stats_spread(values, count).median);
}
