/* What the loader's workers did in a window. [any thread] */
#ifndef CORE_FACTS_LOADER_USE_H
#define CORE_FACTS_LOADER_USE_H

#include "facts.h"

typedef struct loader_use {
  uint64_t workers;         /* a loop that makes its batches itself is one */
  uint64_t begun;           /* batches, among them those that the window's ends cut */
  uint64_t batches;         /* those that it holds whole */
  double batch_ns, read_ns; /* their means: making a batch, and reading within that */
} loader_use;

/* The workers of the whole window; the batches from `from_ns` to `to_ns`. All 0 where no loader is recorded. */
loader_use loader_use_of(const trace_facts *facts, int64_t from_ns, int64_t to_ns);

/* The mean time from one batch to the next if every worker makes one after the other. 0: fewer than two batches
 * for each worker were begun, so that some workers may not be seen, or none is whole. */
double loader_use_pace_ns(const loader_use *self);

#endif
