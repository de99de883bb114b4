/* How fast the loader's workers can be. [any thread] */
#ifndef CORE_FACTS_LOADER_PACE_H
#define CORE_FACTS_LOADER_PACE_H

#include "facts.h"

/* The mean time from one batch to the next if every worker makes one after the other: the mean of the batches that are
 * made whole from `from_ns` to `to_ns`, over the number of workers. A loop that makes its batches itself is one. 0:
 * there are fewer than two batches for each worker, so that some workers may not be seen. */
double loader_pace_ns(const trace_facts *facts, int64_t from_ns, int64_t to_ns);

#endif
