/* Call stacks of operations: addresses while recording, names after the window. */
#ifndef CORE_TRACE_STACKS_H
#define CORE_TRACE_STACKS_H

#include "merge.h"

/* The caller's stack without the recorder's own frames, innermost first. [any thread] */
void stack_capture(raw_stack *out);

/* Symbolises the stacks of all ranges and puts each distinct one into the trace once; sets the ranges' `stack`, which
 * hold the index into their thread's raw stacks before. [loop thread] */
pd_status stacks_resolve(merging *merge);

#endif
