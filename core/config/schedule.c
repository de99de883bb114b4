/* The schedule; see schedule.h. The order of the tests is that of torch.profiler.schedule's closure. */
#include "schedule.h"

#include <pdhost/trace.h>

static uint64_t add_saturated(uint64_t a, uint64_t b) { return a > SCHEDULE_FOREVER - b ? SCHEDULE_FOREVER : a + b; }

/* The steps of two rounds: recorded, one to settle, two blocks that are not, one to settle, recorded. `active` of them
 * are recorded, 2 * twin at most. */
static uint64_t two_rounds(const schedule *plan, uint64_t active) {
  return 2 * active + (active > 0) + (active > plan->twin);
}

uint64_t schedule_window_length(const schedule *plan) {
  if (!plan->twin || plan->active == SCHEDULE_FOREVER) return plan->active;
  const uint64_t pair = 2 * plan->twin;
  return plan->active / pair * two_rounds(plan, pair) + two_rounds(plan, plan->active % pair);
}

static uint64_t cycle_length(const schedule *plan) {
  return add_saturated(add_saturated(plan->wait, plan->warmup), schedule_window_length(plan));
}

/* The step `within` of a window's steps. Most fields are set. */
static void place_in_turns(const schedule *plan, uint64_t within, schedule_at *at) {
  const uint64_t pair = 2 * plan->twin, both = two_rounds(plan, pair), pairs = within / both;
  const bool ends = plan->active != SCHEDULE_FOREVER;
  const uint64_t left = ends ? plan->active - pairs * pair : pair;
  const uint64_t first = left < plan->twin ? left : plan->twin, second = left < pair ? left - first : plan->twin;
  uint64_t step = within % both;
  at->round = 2 * pairs;
  at->phase = PD_PHASE_ACTIVE;
  at->in_round = true;
  if (step < first) {
    at->active_first = within == 0;
    at->active_last = left <= plan->twin && step == first - 1;
    return;
  }
  step -= first;
  const uint64_t without = 1 + first + second;
  at->round += step > first;
  if (step < without) {
    at->phase = PD_PHASE_WAIT;
    at->off = step == 0;
    at->in_round = step > 0;
    return;
  }
  step -= without;
  at->on = step == 0;
  at->in_round = step > 0;
  if (at->on) {
    at->phase = PD_PHASE_WARMUP;
    return;
  }
  at->goes_on = step == 1;
  at->active_last = ends && left <= pair && step == second;
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
  at.window_last = within == length - 1;
  if (plan->twin) {
    place_in_turns(plan, within - first_active, &at);
    return at;
  }
  at.phase = PD_PHASE_ACTIVE;
  at.active_first = within == first_active;
  at.active_last = at.window_last;
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
