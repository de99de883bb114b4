/* See ledger_passes.h. A device without grids says nothing of how full it was: there only the additions count. */
#include "ledger_passes.h"

#include <string.h>

enum { LOOP_THREAD = 0 };

uint64_t ledger_passes_per_step(const trace_facts *facts) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->thread != LOOP_THREAD) break; /* sorted by thread */
    count +=
        range->kind == PD_RANGE_USER && range->step != PD_NONE && !strcmp(facts_text(facts, range->name), "forward");
  }
  return facts->step_count ? count / facts->step_count : 0;
}

static bool adds_gradients(const trace_facts *facts, const pd_device_row *row) {
  if (row->range >= facts->range_count) return false;
  const pd_range *range = facts_range(facts, row->range);
  return range->part == PD_PART_BACKWARD && !strcmp(facts_text(facts, range->name), "aten::add_");
}

bool ledger_passes_cost(const trace_facts *facts, uint64_t passes, intervals *out) {
  bool ok = true;
  if (passes < 2) return true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const double waves = (double)row->detail.u.kernel.waves, least = 1 / (double)passes;
    const int64_t ns = facts_span(row->start_ns, row->end_ns);
    if (row->detail.kind != PD_ACTIVITY_KERNEL) continue;
    if (adds_gradients(facts, row))
      ok = intervals_add(out, row->start_ns, row->end_ns);
    else if (waves >= 0 && waves < 1)
      ok = intervals_add(out, row->start_ns + (int64_t)((double)ns * (waves > least ? waves : least)), row->end_ns);
  }
  return ok;
}
