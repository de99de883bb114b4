/* See loader_pace.h. */
#include "loader_pace.h"

#include <string.h>

enum { BATCHES_LEAST = 2 };

double loader_pace_ns(const trace_facts *facts, int64_t from_ns, int64_t to_ns) {
  double ns = 0;
  uint64_t batches = 0, workers = 0;
  uint32_t last = PD_NONE; /* ranges are sorted by thread */
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind != PD_RANGE_WORKER) continue;
    workers += range->thread != last;
    last = range->thread;
    if (range->start_ns < from_ns || range->end_ns > to_ns) continue;
    if (strcmp(facts_text(facts, range->name), "DataLoader worker: batch") != 0) continue;
    ns += (double)facts_span(range->start_ns, range->end_ns);
    batches++;
  }
  return workers && batches >= BATCHES_LEAST * workers ? ns / (double)batches / (double)workers : 0;
}
