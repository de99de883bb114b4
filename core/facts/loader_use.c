/* See loader_use.h. */
#include "loader_use.h"

#include <string.h>

enum { BATCHES_LEAST = 2 };

typedef struct batch_sums {
  uint64_t count;
  double batch_ns, read_ns;
} batch_sums;

/* A range that was open when the window began or ended is cut there. */
static bool is_whole(const trace_facts *facts, const pd_range *range) {
  return range->start_ns > facts->trace->start_ns && range->end_ns < facts->trace->end_ns;
}

static void add_range(const trace_facts *facts, const pd_range *range, batch_sums *whole, batch_sums *cut) {
  const char *name = facts_text(facts, range->name);
  const double ns = (double)facts_span(range->start_ns, range->end_ns);
  if (!strcmp(name, "DataLoader worker: batch")) {
    batch_sums *to = is_whole(facts, range) ? whole : cut;
    to->count++;
    to->batch_ns += ns;
  } else if (!strcmp(name, "DataLoader worker: read")) {
    /* The reads of a batch that is cut do not count for a whole one. */
    const bool has_batch = range->parent < facts->range_count;
    batch_sums *to = has_batch && !is_whole(facts, facts_range(facts, range->parent)) ? cut : whole;
    to->read_ns += ns;
  }
}

loader_use loader_use_of(const trace_facts *facts, int64_t from_ns, int64_t to_ns) {
  loader_use out = {0};
  batch_sums whole = {0}, cut = {0};
  uint32_t last = PD_NONE; /* ranges are sorted by thread */
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind != PD_RANGE_WORKER) continue;
    out.workers += range->thread != last;
    last = range->thread;
    if (range->start_ns >= from_ns && range->end_ns <= to_ns) add_range(facts, range, &whole, &cut);
  }
  const batch_sums *of = whole.count ? &whole : &cut;
  out.begun = whole.count + cut.count;
  out.batches = whole.count;
  if (!of->count) return out;
  out.batch_ns = of->batch_ns / (double)of->count;
  out.read_ns = of->read_ns / (double)of->count;
  return out;
}

double loader_use_pace_ns(const loader_use *self) {
  const bool known = self->workers && self->begun >= BATCHES_LEAST * self->workers && self->batches >= self->workers;
  return known ? self->batch_ns / (double)self->workers : 0;
}
