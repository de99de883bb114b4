/* See ledger_passes.h. */
#include "ledger_passes.h"

#include "ledger.h"
#include "facts/weights.h"

#include <math.h>
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

/* Waves are quotients in single precision: 3.0000001 of them are three. */
static double whole_waves(double waves) { return waves > 1 ? ceil(waves - 1e-4) : 1; }

/* How much of a kernel of `ns` one of `passes` times its blocks would need for its share of them. */
static double kept_ns(double ns, double fixed, double waves, double passes) {
  if (ns < fixed) fixed = ns;
  const double rest = waves < 0 ? 1 : whole_waves(passes * waves) / (passes * whole_waves(waves));
  return fixed / passes + (ns - fixed) * rest;
}

bool ledger_passes_cost(const trace_facts *facts, uint64_t passes, intervals *out) {
  const pd_device_props *device = facts->trace->device;
  const bool is_cuda = device && device->is_cuda;
  bool ok = true;
  if (passes < 2) return true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->detail.kind != PD_ACTIVITY_KERNEL || facts_is_communication(facts, row->name)) continue;
    const double ns = (double)facts_span(row->start_ns, row->end_ns), waves = (double)row->detail.u.kernel.waves;
    const double fixed = is_cuda ? LEDGER_TINY_CUDA_NS : ns * weights_share(facts, row, WEIGHTS_ROWS);
    const double kept = adds_gradients(facts, row) ? 0 : kept_ns(ns, fixed, waves, (double)passes);
    ok = intervals_add(out, row->start_ns + (int64_t)kept, row->end_ns);
  }
  return ok;
}
