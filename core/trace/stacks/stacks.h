/* Call stacks of operations: addresses while recording, names after the window. */
#ifndef CORE_TRACE_STACKS_STACKS_H
#define CORE_TRACE_STACKS_STACKS_H

#include "trace/merge.h"

/* Called before the first capture and before each window: see unwind_prepare. */
void stacks_prepare(void);

/* The calling thread's stack from the frame that returns to `caller` outwards, innermost first. [any thread] */
void stacks_capture(raw_stack *out, const void *caller);

/* Puts each distinct stack of the ranges into the trace once, frames named; sets the ranges' `stack`, which is the
 * index into their thread's raw stacks before. [loop thread] */
pd_status stacks_resolve(merging *self);

#endif
