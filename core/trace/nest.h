/* Nesting of one thread's ranges: from the order in which they ended to rows sorted by (start, -end, depth). */
#ifndef CORE_TRACE_NEST_H
#define CORE_TRACE_NEST_H

#include "merge.h"

#define NEST_DROPPED (PD_NONE - 1)

/* Parent of every range as an index into the thread's ranges, PD_NONE, or NEST_DROPPED for what lies outside the
 * window. Returns how many are kept. */
uint64_t nest_parents(const merging *self, const window_thread *thread, uint32_t *parents);

/* Writes the kept ranges to the trace, from row `first`; `parents` as above. `size` and `place` are scratch, one entry
 * per range. `shape_base` is where the thread's shapes begin in the trace. */
void nest_rows(const merging *self, const window_thread *thread, uint32_t thread_index, const uint32_t *parents,
               uint32_t *size, uint32_t *place, uint64_t first, uint64_t count, uint64_t shape_base);

#endif
