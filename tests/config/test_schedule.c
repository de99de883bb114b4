/* The schedule against torch.profiler.schedule's closure, restated here in its own words. */
#include "pd_test.h"

#include "config/schedule.h"
#include <pdhost/trace.h>

typedef enum action { NONE, WARMUP, RECORD, RECORD_AND_SAVE } action;

/* torch/profiler/profiler.py, schedule(): the same tests in the same order. */
static action torch_action(uint64_t step, uint64_t skip_first, uint64_t wait, uint64_t warmup, uint64_t active,
                           uint64_t repeat) {
  if (step < skip_first) return NONE;
  step -= skip_first;
  const uint64_t num_steps = wait + warmup + active;
  if (repeat > 0 && step / num_steps >= repeat) return NONE;
  const uint64_t mod_step = step % num_steps;
  if (mod_step < wait) return NONE;
  if (mod_step < wait + warmup) return WARMUP;
  return mod_step < num_steps - 1 ? RECORD : RECORD_AND_SAVE;
}

PD_TEST(schedule, equals_torch_for_all_small_plans) {
  for (uint64_t skip = 0; skip <= 3; skip++)
    for (uint64_t wait = 0; wait <= 3; wait++)
      for (uint64_t warmup = 0; warmup <= 3; warmup++)
        for (uint64_t active = 1; active <= 4; active++)
          for (uint64_t repeat = 0; repeat <= 3; repeat++) {
            const schedule plan = {skip, wait, warmup, active, repeat};
            for (uint64_t step = 0; step < 50; step++) {
              const schedule_at at = schedule_step(&plan, step);
              const action want = torch_action(step, skip, wait, warmup, active, repeat);
              const action got = at.phase == PD_PHASE_WARMUP   ? WARMUP
                                 : at.phase != PD_PHASE_ACTIVE ? NONE
                                 : at.active_last              ? RECORD_AND_SAVE
                                                               : RECORD;
              cr_assert_eq(got, want, "skip %d wait %d warmup %d active %d repeat %d step %d", (int)skip, (int)wait,
                           (int)warmup, (int)active, (int)repeat, (int)step);
            }
          }
}

PD_TEST(schedule, numbers_windows_and_their_edges) {
  const schedule plan = {.skip_first = 1, .wait = 1, .warmup = 2, .active = 3, .repeat = 2};
  static const struct {
    pd_phase phase;
    uint32_t window;
    bool warmup_first, active_first, active_last;
  } want[] = {
      {PD_PHASE_SKIP, PD_NONE, false, false, false}, {PD_PHASE_WAIT, PD_NONE, false, false, false},
      {PD_PHASE_WARMUP, 0, true, false, false},      {PD_PHASE_WARMUP, 0, false, false, false},
      {PD_PHASE_ACTIVE, 0, false, true, false},      {PD_PHASE_ACTIVE, 0, false, false, false},
      {PD_PHASE_ACTIVE, 0, false, false, true},      {PD_PHASE_WAIT, PD_NONE, false, false, false},
      {PD_PHASE_WARMUP, 1, true, false, false},      {PD_PHASE_WARMUP, 1, false, false, false},
      {PD_PHASE_ACTIVE, 1, false, true, false},      {PD_PHASE_ACTIVE, 1, false, false, false},
      {PD_PHASE_ACTIVE, 1, false, false, true},      {PD_PHASE_SKIP, PD_NONE, false, false, false},
  };
  for (uint64_t step = 0; step < sizeof want / sizeof want[0]; step++) {
    const schedule_at at = schedule_step(&plan, step);
    cr_assert_eq(at.phase, want[step].phase, "step %d", (int)step);
    cr_assert_eq(at.window, want[step].window, "step %d", (int)step);
    cr_assert_eq(at.warmup_first, want[step].warmup_first, "step %d", (int)step);
    cr_assert_eq(at.active_first, want[step].active_first, "step %d", (int)step);
    cr_assert_eq(at.active_last, want[step].active_last, "step %d", (int)step);
  }
  cr_assert_eq(schedule_total(&plan), 13);
}

PD_TEST(schedule, without_warmup_the_first_active_step_is_the_profilers_first) {
  const schedule plan = {.wait = 1, .active = 1, .repeat = 1};
  const schedule_at at = schedule_step(&plan, 1);
  cr_assert(at.phase == PD_PHASE_ACTIVE && at.warmup_first && at.active_first && at.active_last);
}

PD_TEST(schedule, record_everything_never_ends) {
  const schedule plan = {.active = SCHEDULE_FOREVER, .repeat = 1};
  cr_assert_eq(schedule_total(&plan), SCHEDULE_FOREVER);
  const schedule_at at = schedule_step(&plan, 1000000000000u);
  cr_assert(at.phase == PD_PHASE_ACTIVE && at.window == 0 && !at.active_last);
  cr_assert_eq(schedule_total(&(schedule){.wait = 1, .active = 1, .repeat = 0}), SCHEDULE_FOREVER);
  cr_assert_eq(schedule_total(&(schedule){.active = SCHEDULE_FOREVER / 2, .repeat = 3}), SCHEDULE_FOREVER);
}

PD_TEST(schedule, paddles_range_records_exactly_its_steps) {
  for (uint64_t start = 0; start < 5; start++)
    for (uint64_t end = start + 1; end < 9; end++) {
      const schedule plan = schedule_from_range(start, end);
      for (uint64_t step = 0; step < 12; step++)
        cr_assert_eq(schedule_step(&plan, step).phase == PD_PHASE_ACTIVE, step >= start && step < end);
      cr_assert_eq(schedule_total(&plan), end);
      cr_assert_eq(plan.warmup, start > 0);
    }
}
