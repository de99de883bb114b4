/* The rounds of pdhost ab on made-up machines: no false alarm where A is B, 3 % found where they are there, and an end
 * whatever the clock says. */
#include "compare/ab_rounds.h"

#include "made_noise.h"
#include "pd_test.h"

#include <string.h>

enum { TRIALS = 200 };
/* As pdhost ab has them. */
static const ab_rules usual = {.width = 0.4 * COMPARISON_MARGIN, .max_time_s = 10};

/* A machine with a clock of its own; both sides run on it. */
typedef struct machine {
  uint64_t seed;
  double now_s;
  double step_s[2]; /* of A and B */
  double jitter;    /* normal, of a block */
  double spikes;    /* share of blocks in which somebody else had the core */
  double drift;     /* of the speed, from one end of a second to the other */
  double neighbour; /* another program runs for a third of the time, and takes this share */
  double placement; /* normal, of B's speed: drawn anew with every restart */
  double placed;    /* what was drawn */
  double unfair;    /* another program comes and goes, and hits B alone: how many times as long it takes then */
  double unfair_at; /* in blocks in which a sine of their number is below; -1 .. 1 */
  uint64_t restarts;
  uint64_t stop_at; /* block at which a signal comes; 0: none */
  uint64_t blocks, empty;
  char order[64];
} machine;

typedef struct side {
  machine *on;
  int which;
} side;

static pd_status block(void *user, uint64_t number, double *host_s, double *device_s) {
  const side *self = user;
  machine *on = self->on;
  *device_s = (double)NAN;
  *host_s = 2e-7;
  if (!number) {
    on->empty++;
    return PD_OK;
  }
  if (++on->blocks == on->stop_at) return PD_STOP;
  if (on->blocks < sizeof on->order) on->order[on->blocks - 1] = (char)('A' + self->which);
  double time = on->step_s[self->which] * (double)number * exp(on->jitter * made_noise_normal(&on->seed));
  if (self->which) time *= on->placed;
  time *= 1 + on->drift * sin(on->now_s);
  if (on->neighbour > 0 && sin(2 * on->now_s) > 0.5) time /= 1 - on->neighbour;
  if (self->which && on->unfair > 0 && sin(0.05 * (double)on->blocks) < on->unfair_at) time *= on->unfair;
  if (made_noise_uniform(&on->seed) < on->spikes) time += 4e-3 * made_noise_uniform(&on->seed);
  on->now_s += time;
  *host_s += time;
  return PD_OK;
}

static pd_status renew(void *user, uint64_t index) {
  machine *on = user;
  cr_assert_eq(index, on->restarts + 1);
  on->restarts++;
  on->placed = exp(on->placement * made_noise_normal(&on->seed));
  return PD_OK;
}

static outcome run(machine *on, ab_result *out) {
  side a = {on, 0}, b = {on, 1};
  void *const users[2] = {&a, &b};
  const ab_callbacks calls = {.block = block, .renew = renew, .user = on};
  on->placed = exp(on->placement * made_noise_normal(&on->seed));
  cr_assert_eq(ab_measure(&usual, &calls, users, out), PD_OK);
  return comparison_paired(&out->of, COMPARISON_MARGIN);
}

/* Steps of 5 ms, then of 3 us; a quiet machine, then one that others use too. */
static machine make(int trial, double effect) {
  const double step_s = trial % 2 ? 5e-3 : 3e-6;
  machine on = {.seed = (uint64_t)trial * 977 + 5, .step_s = {step_s, step_s * (1 + effect)}, .jitter = 0.01};
  if (trial % 4 < 2) return on;
  on.jitter = 0.04;
  on.spikes = 0.1;
  on.drift = 0.1;
  on.neighbour = 0.4;
  on.placement = 0.01;
  return on;
}

PD_TEST_WITH(ab_rounds, a_against_a_raises_no_alarm, .timeout = 300) {
  int alarms = 0, same = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    machine on = make(trial, 0);
    ab_result got;
    const outcome verdict = run(&on, &got);
    alarms += verdict == OUTCOME_FASTER || verdict == OUTCOME_SLOWER;
    same += trial % 4 < 2 && verdict == OUTCOME_SAME;
    ab_free(&got);
  }
  cr_assert_leq(alarms, TRIALS / 20, "%d alarms", alarms);
  cr_assert_geq(same, TRIALS / 2 * 95 / 100, "%d of the quiet machine's are the same", same);
}

PD_TEST_WITH(ab_rounds, three_per_cent_are_found, .timeout = 300) {
  int found = 0, held = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    machine on = make(trial, 0.03);
    ab_result got;
    found += run(&on, &got) == OUTCOME_SLOWER;
    held += got.of.of.low <= 1.03 && 1.03 <= got.of.of.high;
    ab_free(&got);
  }
  cr_assert_geq(found, TRIALS * 95 / 100, "%d found", found);
  cr_assert_geq(held, TRIALS * 9 / 10, "%d intervals hold the truth", held);
}

PD_TEST(ab_rounds, turns_are_abba_then_baab) {
  machine on = make(1, 0);
  ab_result got;
  on.jitter = 0;
  (void)run(&on, &got);
  cr_assert_eq(strncmp(on.order, "ABABBABAABABBABAAB", 18), 0, "%s", on.order); /* AB: the number is found */
  cr_assert_eq(got.number, 1);
  cr_assert_eq(got.restart_count, AB_LEAST_RESTARTS, "no noise: the first look is the last");
  cr_assert_eq(got.rounds, AB_LEAST_RESTARTS * AB_RESTART_ROUNDS);
  cr_assert_eq(on.restarts, AB_LEAST_RESTARTS - 1, "the first one was up already");
  cr_assert(got.narrow && got.of.of.ratio == 1);
  ab_free(&got);
}

PD_TEST(ab_rounds, short_steps_make_long_blocks) {
  machine on = make(0, 0.03);
  ab_result got;
  (void)run(&on, &got);
  cr_assert_geq((double)got.number * 3e-6, 0.95e-3);
  cr_assert_leq((double)got.number * 3e-6, 2e-3);
  ab_free(&got);
}

PD_TEST(ab_rounds, a_noisy_machine_ends_by_time) {
  machine on = make(1, 0.03);
  ab_result got;
  on.jitter = 1;
  cr_assert_eq(run(&on, &got), OUTCOME_UNCLEAR);
  cr_assert(!got.narrow && got.spent_s >= usual.max_time_s && got.spent_s < 1.2 * usual.max_time_s);
  ab_free(&got);
}

/* B is served worse than A, and neither steadily: 30 % that are not B's. */
PD_TEST(ab_rounds, rounds_that_disagree_have_no_verdict) {
  machine on = make(1, 0.3);
  ab_result got;
  on.jitter = 0.3;
  cr_assert_eq(run(&on, &got), OUTCOME_UNCLEAR);
  cr_assert(got.of.spread > COMPARISON_WIDE_SPREAD && got.of.of.low > 1 + COMPARISON_MARGIN, "%g", got.of.spread);
  ab_free(&got);
}

/* Nine times as long is more than any machine's other work makes of nothing. */
PD_TEST(ab_rounds, what_differs_by_far_more_than_the_rounds_do_has_a_verdict) {
  for (int trial = 0; trial < 20; trial++) {
    for (int faster = 0; faster < 2; faster++) {
      machine on = make(1, faster ? 1.0 / 9 - 1 : 8);
      ab_result got;
      on.seed += (uint64_t)trial;
      on.jitter = 0.3;
      cr_assert_eq(run(&on, &got), faster ? OUTCOME_FASTER : OUTCOME_SLOWER);
      cr_assert_gt(got.of.spread, COMPARISON_WIDE_SPREAD);
      ab_free(&got);
    }
  }
}

/* What the veto is for: B is as fast as A, and looks slower in a third to two thirds of the rounds. The interval
 * leaves 1 out, and there is no verdict all the same. */
PD_TEST(ab_rounds, a_machine_that_is_unfair_now_and_then_has_no_verdict) {
  int fooled = 0;
  for (int trial = 0; trial < 60; trial++) {
    static const double factors[] = {1.4, 2, 4}, shares[] = {-0.5, 0, 0.5};
    machine on = make(1, 0);
    ab_result got;
    on.seed += (uint64_t)trial;
    on.unfair = factors[trial % 3];
    on.unfair_at = shares[trial / 3 % 3];
    cr_assert_eq(run(&on, &got), OUTCOME_UNCLEAR, "trial %d: spread %g ratio %g", trial, got.of.spread,
                 got.of.of.ratio);
    fooled += comparison_outcome(&got.of.of, got.of.restarts, COMPARISON_MARGIN) == OUTCOME_SLOWER;
    ab_free(&got);
  }
  cr_assert_geq(fooled, 40, "%d of 60 would have been called slower", fooled);
}

/* Six rounds of it would be 4.8 s: no budget for the restarts that a verdict needs. */
PD_TEST(ab_rounds, long_steps_have_restarts_enough) {
  machine on = make(1, 1);
  ab_result got;
  on.step_s[0] = 0.133;
  on.step_s[1] = 0.266;
  cr_assert_eq(run(&on, &got), OUTCOME_SLOWER);
  cr_assert_geq(got.restart_count, AB_LEAST_RESTARTS);
  cr_assert_lt(got.spent_s, 1.1 * usual.max_time_s);
  ab_free(&got);
}

static pd_status run_until(machine *on, uint64_t stop_at, ab_result *out) {
  side a = {on, 0}, b = {on, 1};
  void *const users[2] = {&a, &b};
  const ab_callbacks calls = {.block = block};
  on->placed = 1;
  on->stop_at = stop_at;
  return ab_measure(&usual, &calls, users, out);
}

PD_TEST(ab_rounds, a_signal_keeps_the_whole_rounds) {
  machine on = make(1, 0);
  ab_result got;
  cr_assert_eq(run_until(&on, 2 + 4 * 10 + 3, &got), PD_STOP);
  cr_assert_eq(got.rounds, 10);
  cr_assert_eq(got.restart_count, 2, "one whole, one cut short");
  cr_assert(got.of.of.ratio > 0 && !isnan(got.of.of.low));
  ab_free(&got);
  on = make(1, 0);
  cr_assert_eq(run_until(&on, 1, &got), PD_STOP);
  cr_assert_eq(got.rounds, 0);
  ab_free(&got);
}

/* 51 us of a step behind 60 ms of a cache that is emptied, by a clock that sees both. */
static pd_status cold_block(void *user, uint64_t number, double *host_s, double *device_s) {
  const side *self = user;
  if (number) self->on->now_s += 0.06;
  return block(user, number, host_s, device_s);
}

static double machine_clock(void *user) { return ((const side *)user)->on->now_s; }

PD_TEST(ab_rounds, emptying_the_cache_counts_against_the_time) {
  for (int many = 0; many < 2; many++) {
    machine on = make(1, 0.03);
    side a = {&on, 0}, b = {&on, 1};
    void *const users[2] = {&a, &b};
    const ab_callbacks calls = {.block = cold_block, .renew = renew, .user = &on};
    const ab_rules rules = {.width = 1e-9, .number = 1, .max_time_s = many ? 10 : 1, .clock = machine_clock};
    ab_result got;
    on.step_s[0] = 51e-6;
    on.step_s[1] = 53e-6;
    on.placed = 1;
    cr_assert_eq(ab_measure(&rules, &calls, users, &got), PD_OK);
    cr_assert_leq(on.now_s, 1.4 * rules.max_time_s + 0.2, "%g s", on.now_s);
    cr_assert(many ? got.restart_count >= AB_LEAST_RESTARTS : got.rounds == 5, "%lu in %lu", got.rounds,
              got.restart_count);
    ab_free(&got);
  }
}

static pd_status renew_fails(void *user, uint64_t index) {
  (void)user;
  return index == 3 ? PD_DEVICE : PD_OK;
}

PD_TEST(ab_rounds, what_does_not_come_up_again_ends_it) {
  machine on = make(1, 0);
  side a = {&on, 0}, b = {&on, 1};
  void *const users[2] = {&a, &b};
  const ab_callbacks calls = {.block = block, .renew = renew_fails};
  ab_result got;
  on.placed = 1;
  cr_assert_eq(ab_measure(&usual, &calls, users, &got), PD_DEVICE);
  cr_assert_eq(got.restart_count, 3);
  ab_free(&got);
}

/* Clocks that stand, run backwards or lose their mind. */
static pd_status broken_block(void *user, uint64_t number, double *host_s, double *device_s) {
  const double *const value = user;
  (void)number;
  *host_s = *value;
  *device_s = (double)NAN;
  return PD_OK;
}

PD_TEST(ab_rounds, it_ends_on_broken_clocks) {
  const double values[] = {0, -1, INFINITY, NAN, 1e-12, 1e300};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    double value = values[i];
    void *const users[2] = {&value, &value};
    ab_result got;
    const ab_callbacks calls = {.block = broken_block};
    const pd_status status = ab_measure(&usual, &calls, users, &got);
    cr_assert_eq(status, value > 0 && isfinite(value) ? PD_OK : PD_INVALID, "%g", value);
    cr_assert(got.rounds + got.dropped <= AB_MOST_ROUNDS);
    ab_free(&got);
  }
}

/* A device whose clock fails now and then has no times there, and the rounds stand. */
static pd_status odd_device_block(void *user, uint64_t number, double *host_s, double *device_s) {
  const side *self = user;
  const pd_status status = block(user, number, host_s, device_s);
  *device_s = self->on->blocks % 5 ? *host_s / 2 : self->on->blocks % 2 ? -1 : INFINITY;
  return status;
}

PD_TEST(ab_rounds, device_times_are_kept_where_they_are_times) {
  machine on = make(1, 0);
  side a = {&on, 0}, b = {&on, 1};
  void *const users[2] = {&a, &b};
  const ab_callbacks calls = {.block = odd_device_block};
  ab_result got;
  on.placed = 1;
  cr_assert_eq(ab_measure(&usual, &calls, users, &got), PD_OK);
  uint64_t missing = 0;
  for (int which = 0; which < 2; which++)
    for (uint64_t i = 0; i < 2 * got.rounds; i++) {
      if (isnan(got.device_s[which][i])) missing++;
      if (!isnan(got.device_s[which][i])) cr_assert_float_eq(got.device_s[which][i], got.times_s[which][i] / 2, 1e-15);
    }
  cr_assert(missing > 0 && missing < got.rounds, "%lu of %lu", missing, 4 * got.rounds);
  ab_free(&got);
}

typedef struct heard {
  uint64_t calls, looks;
} heard;
static void hear(void *user, const ab_result *so_far) {
  heard *self = user;
  self->calls++;
  self->looks += so_far->of.of.ratio > 0;
}

PD_TEST(ab_rounds, progress_is_told_after_every_round) {
  machine on = make(1, 0);
  side a = {&on, 0}, b = {&on, 1};
  void *const users[2] = {&a, &b};
  heard to = {0};
  ab_result got;
  const ab_callbacks calls = {.block = block, .tell = hear, .user = &to};
  on.placed = 1;
  cr_assert_eq(ab_measure(&usual, &calls, users, &got), PD_OK);
  cr_assert_eq(to.calls, got.rounds);
  cr_assert_eq(to.looks, got.rounds - AB_LEAST_RESTARTS * AB_RESTART_ROUNDS, "after the restart of the first look");
  ab_free(&got);
}
