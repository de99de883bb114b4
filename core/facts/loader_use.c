/* See loader_use.h. */
#include "loader_use.h"

#include <string.h>

enum { BATCHES_LEAST = 2 };

/* A range that was open when the window began or ended is cut there. */
static bool is_whole(const trace_facts *facts, const pd_range *range) {
  return range->start_ns > facts->trace->start_ns && range->end_ns < facts->trace->end_ns;
}

loader_use loader_use_of(const trace_facts *facts, int64_t from_ns, int64_t to_ns) {
  loader_use out = {0};
  uint32_t last = PD_NONE; /* ranges are sorted by thread */
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind != PD_RANGE_WORKER) continue;
    out.workers += range->thread != last;
    last = range->thread;
    if (range->start_ns < from_ns || range->end_ns > to_ns) continue;
    const char *name = facts_text(facts, range->name);
    const double ns = (double)facts_span(range->start_ns, range->end_ns);
    const bool is_batch = !strcmp(name, "DataLoader worker: batch");
    out.begun += is_batch;
    if (!is_whole(facts, range)) continue;
    if (is_batch) {
      out.batches++;
      out.batch_ns += ns;
    } else if (!strcmp(name, "DataLoader worker: read")) {
      out.read_ns += ns;
    }
  }
  if (!out.batches) return (loader_use){.workers = out.workers, .begun = out.begun};
  out.batch_ns /= (double)out.batches;
  out.read_ns /= (double)out.batches;
  return out;
}

double loader_use_pace_ns(const loader_use *self) {
  const bool known = self->workers && self->begun >= BATCHES_LEAST * self->workers;
  return known ? self->batch_ns / (double)self->workers : 0;
}
