/* The schedule; see schedule.h. The order of the tests is that of torch.profiler.schedule's closure. */
#include "schedule.h"

#include <pdhost/trace.h>

static uint64_t add_saturated(uint64_t a, uint64_t b) { return a > SCHEDULE_FOREVER - b ? SCHEDULE_FOREVER : a + b; }

static uint64_t cycle_length(const schedule *plan) {
  return add_saturated(add_saturated(plan->wait, plan->warmup), plan->active);
}

schedule_at schedule_step(const schedule *plan, uint64_t step) {
  schedule_at at = {.phase = PD_PHASE_SKIP, .window = PD_NONE};
  if (step < plan->skip_first) return at;
  step -= plan->skip_first;
  const uint64_t length = cycle_length(plan);
  if (length == 0) return at;
  const uint64_t cycle = step / length;
  if (plan->repeat > 0 && cycle >= plan->repeat) return at;
  const uint64_t within = step % length;
  if (within < plan->wait) {
    at.phase = PD_PHASE_WAIT;
    return at;
  }
  at.window = (uint32_t)cycle;
  at.warmup_first = within == plan->wait;
  const uint64_t first_active = plan->wait + plan->warmup;
  if (within < first_active) {
    at.phase = PD_PHASE_WARMUP;
    return at;
  }
  at.phase = PD_PHASE_ACTIVE;
  at.active_first = within == first_active;
  at.active_last = within == length - 1;
  return at;
}

uint64_t schedule_total(const schedule *plan) {
  const uint64_t length = cycle_length(plan);
  if (plan->repeat == 0 || length == SCHEDULE_FOREVER) return SCHEDULE_FOREVER;
  if (length != 0 && plan->repeat > SCHEDULE_FOREVER / length) return SCHEDULE_FOREVER;
  return add_saturated(plan->skip_first, plan->repeat * length);
}

schedule schedule_from_range(uint64_t start, uint64_t end) {
  schedule result = {.active = end - start, .repeat = 1};
  if (start > 0) {
    result.wait = start - 1;
    result.warmup = 1;
  }
  return result;
}
