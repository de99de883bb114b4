/*
 * TraceML (traceopt-ai), step time diagnosis of the end of a run.
 *
 * Source: traceopt-ai/traceml, traceml/diagnostics/step_time; thresholds as of 2026-08: input, residual and copies to
 * the device warn from 10 % of the step and are critical from 20 %. Rules: input is the loop's wait for a batch;
 * copies, forward, backward and optimiser are timed on the device, each from its first record of the step to its last;
 * the residual is what is left of the step. Mapping: input is input_bound, copies to the device pageable_copy (it does
 * not tell pageable from pinned), residual
 * ("wait heavy") has no cause of ours, compute-bound is silence. The largest share from 10 % on is the verdict.
 */
#include "rivals.h"

#define WARN_SHARE 0.10

enum { PHASE_COPY, PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_COUNT };

static uint32_t phase_of(const trace_facts *facts, const pd_device_row *row) {
  const pd_part part = row->range < facts->range_count ? facts_range(facts, row->range)->part : PD_PART_NONE;
  if (row->detail.kind == PD_ACTIVITY_MEMCPY && row->detail.u.copy.from != PD_MEMORY_DEVICE) return PHASE_COPY;
  if (part == PD_PART_FORWARD) return PHASE_FORWARD;
  if (part == PD_PART_BACKWARD) return PHASE_BACKWARD;
  return part == PD_PART_OPTIMIZATION ? PHASE_OPTIMIZER : PHASE_COUNT;
}

/* One step's copies, and all its phases together, in nanoseconds. */
static void time_step(const trace_facts *facts, uint64_t step, uint64_t *next, int64_t *copies, int64_t *phases) {
  int64_t from[PHASE_COUNT], to[PHASE_COUNT];
  for (uint32_t p = 0; p < PHASE_COUNT; p++) {
    from[p] = INT64_MAX;
    to[p] = INT64_MIN;
  }
  for (; *next < facts->activity_count; ++*next) {
    const pd_device_row *row = facts_activity(facts, *next);
    if (row->step != step && row->step != PD_NONE) break;
    const uint32_t phase = phase_of(facts, row);
    if (row->step == PD_NONE || phase == PHASE_COUNT) continue;
    if (row->start_ns < from[phase]) from[phase] = row->start_ns;
    if (row->end_ns > to[phase]) to[phase] = row->end_ns;
  }
  for (uint32_t p = 0; p < PHASE_COUNT; p++)
    if (from[p] < to[p]) *phases += to[p] - from[p];
  if (from[PHASE_COPY] < to[PHASE_COPY]) *copies += to[PHASE_COPY] - from[PHASE_COPY];
}

static const char *judge(const trace_facts *facts) {
  int64_t input = 0, copies = 0, phases = 0;
  uint64_t next = 0;
  for (uint64_t s = 0; s < facts->step_count; s++) {
    input += facts_step(facts, s)->data_wait_ns;
    time_step(facts, s, &next, &copies, &phases);
  }
  const int64_t total = facts->steps_ns, residual = total - input - phases;
  const double limit = WARN_SHARE * (double)total;
  if ((double)input >= limit && input >= copies && input >= residual) return "input_bound";
  if ((double)copies >= limit && copies >= residual) return "pageable_copy";
  return (double)residual >= limit ? RIVAL_UNNAMED : RIVAL_SILENT;
}

const rival rival_traceml = {"traceml", "TraceML step time", judge};
