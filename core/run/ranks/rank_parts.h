/*
 * How the steps of one rank divide, as the distributed view of PyTorch's TensorBoard plugin has it: each moment of the
 * steps is in one part, so that the parts add up to the steps' time, to the nanosecond. [loop thread]
 */
#ifndef CORE_RUN_RANK_PARTS_H
#define CORE_RUN_RANK_PARTS_H

#include "facts/facts.h"

/* In ns, of all steps together. A step lasts until the device has done what it launched, so that a loop that runs ahead
 * of its device has the device's time; where steps then overlap, a moment counts once. */
typedef struct rank_parts {
  int64_t steps_ns;
  int64_t computation_ns;   /* a kernel runs, and no collective */
  int64_t overlap_ns;       /* both */
  int64_t communication_ns; /* a collective alone */
  int64_t other_ns;         /* neither: copies, or an idle device */
} rank_parts;

/* Adds a window to `self`. False on no memory. */
bool rank_parts_add(rank_parts *self, const trace_facts *facts);

#endif
