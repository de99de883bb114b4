/* What the loader's workers did in a window. [any thread] */
#ifndef CORE_FACTS_LOADER_USE_H
#define CORE_FACTS_LOADER_USE_H

#include "facts.h"

typedef struct loader_use {
  uint64_t workers, batches; /* a loop that makes its batches itself is one worker */
  double batch_ns, read_ns;  /* means of a batch: making it, and reading within that */
} loader_use;

/* The workers of the whole window; the batches that were made whole from `from_ns` to `to_ns`. All 0 where no loader is
 * recorded. */
loader_use loader_use_of(const trace_facts *facts, int64_t from_ns, int64_t to_ns);

/* The mean time from one batch to the next if every worker makes one after the other. 0: there are fewer than two
 * batches for each worker, so that some workers may not be seen. */
double loader_use_pace_ns(const loader_use *self);

#endif
