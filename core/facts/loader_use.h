/* What the loader's workers did in a window. [any thread] */
#ifndef CORE_FACTS_LOADER_USE_H
#define CORE_FACTS_LOADER_USE_H

#include "facts.h"

typedef struct loader_use {
  uint64_t workers; /* a loop that makes its batches itself is one */
  uint64_t begun;   /* batches, also those that an end of the window cuts */
  uint64_t batches; /* batches that lie whole within the window */
  /* Means of the whole batches: the time to make one, and of it the time to read. Where all are cut, of those: a batch
   * takes no less. */
  double batch_ns, read_ns;
} loader_use;

/* The workers of the whole window; the batches from `from_ns` to `to_ns`. All 0 where no loader is recorded. */
loader_use loader_use_of(const trace_facts *facts, int64_t from_ns, int64_t to_ns);

/* The mean time from one batch to the next if every worker makes one after the other. 0: fewer than two batches
 * for each worker were begun, so that some workers may not be seen, or fewer than one for each are whole. */
double loader_use_pace_ns(const loader_use *self);

#endif
