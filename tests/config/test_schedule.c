/* The schedule against torch.profiler.schedule's closure, restated here in its own words. */
#include "pd_test.h"

#include "config/schedule.h"
#include <pdhost/trace.h>

#include <string.h>

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
            const schedule plan = {skip, wait, warmup, active, repeat, 0};
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

/* A step of a window with a twin: R recorded, U not, s and w to settle with the profiler off and on. */
static char kind_of(const schedule_at *at) {
  if (at->phase == PD_PHASE_ACTIVE) return 'R';
  if (at->phase == PD_PHASE_WAIT) return at->off ? 's' : 'U';
  return at->on ? 'w' : '?';
}

PD_TEST(schedule, recorded_steps_take_turns_with_others) {
  static const struct {
    uint64_t active, twin;
    const char *steps, *rounds; /* a step that settles is of none */
  } want[] = {{8, 2, "RRsUUUUwRRRRsUUUUwRR", "00 0011 1122 2233 33"},
              {8, 1, "RsUUwRRsUUwRRsUUwRRsUUwR", "0 01 12 23 34 45 56 67 7"},
              {5, 2, "RRsUUUUwRRRsU", "00 0011 112 2"},
              {7, 2, "RRsUUUUwRRRRsUUUwR", "00 0011 1122 223 3"},
              {3, 8, "RRRsUUU", "000 000"},
              {1, 1, "RsU", "0 0"}};
  for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
    const schedule plan = {
        .skip_first = 1, .wait = 1, .warmup = 1, .active = want[i].active, .repeat = 2, .twin = want[i].twin};
    const uint64_t length = strlen(want[i].steps), before = 3;
    cr_assert_eq(schedule_window_length(&plan), length, "case %zu", i);
    cr_assert_eq(schedule_total(&plan), 1 + 2 * (2 + length), "case %zu", i);
    for (uint64_t cycle = 0; cycle < 2; cycle++) {
      uint64_t recorded = 0;
      for (uint64_t step = 0; step < length; step++) {
        const schedule_at at = schedule_step(&plan, before + cycle * (2 + length) + step);
        const bool is_recorded = want[i].steps[step] == 'R';
        cr_assert_eq(kind_of(&at), want[i].steps[step], "case %zu, step %d", i, (int)step);
        cr_assert_eq(at.window, cycle);
        cr_assert_eq(at.in_round, want[i].rounds[step] != ' ', "case %zu, step %d", i, (int)step);
        if (at.in_round)
          cr_assert_eq(at.round, (uint64_t)(want[i].rounds[step] - '0'), "case %zu, step %d", i, (int)step);
        recorded += is_recorded;
        cr_assert_eq(at.active_first, is_recorded && recorded == 1);
        cr_assert_eq(at.active_last, is_recorded && recorded == want[i].active, "case %zu, step %d", i, (int)step);
        cr_assert_eq(at.window_last, step == length - 1);
        cr_assert_eq(at.goes_on, is_recorded && step && want[i].steps[step - 1] == 'w', "case %zu, step %d", i,
                     (int)step);
      }
    }
  }
}

PD_TEST(schedule, a_window_without_end_has_rounds_without_end) {
  const schedule plan = {.active = SCHEDULE_FOREVER, .repeat = 1, .twin = 2};
  uint64_t recorded = 0, without = 0;
  cr_assert_eq(schedule_total(&plan), SCHEDULE_FOREVER);
  for (uint64_t step = 0; step < 1000; step++) {
    const schedule_at at = schedule_step(&plan, step);
    cr_assert_not(at.active_last || at.window_last);
    if (!at.in_round) continue;
    if (at.phase == PD_PHASE_ACTIVE)
      recorded++;
    else
      without++;
    cr_assert_leq(at.round, step / 5 + 1);
  }
  cr_assert_eq(recorded, without);
}
