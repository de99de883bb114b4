/* What the run's steps took before the profiling library was there. [loop thread] */
#ifndef CORE_RUN_UNPROFILED_H
#define CORE_RUN_UNPROFILED_H

#include <stdint.h>

enum { UNPROFILED_KEPT = 32, UNPROFILED_LEAST = 3 };

typedef struct unprofiled {
  int64_t ns[UNPROFILED_KEPT]; /* the latest, in no order */
  uint64_t count;              /* of all there were */
} unprofiled;

void unprofiled_add(unprofiled *self, int64_t step_ns);
/* 0 with fewer than UNPROFILED_LEAST steps. */
int64_t unprofiled_median(const unprofiled *self);

#endif
