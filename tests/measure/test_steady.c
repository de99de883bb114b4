/* The end of a warm-up on made-up machines: a drift is seen, noise is not taken for one, and it ends whatever the clock
 * says. */
#include "measure/steady.h"

#include "made_noise.h"
#include "pd_test.h"

#include <string.h>

enum { TRIALS = 200 };
static const steady_rules usual = {.window_s = 0.2, .max_time_s = 2};

typedef enum machine_kind {
  EVEN,
  SPIKES, /* a tenth of the blocks is disturbed */
  TAIL,   /* no mean */
  UP,     /* `drift` a second, without end */
  DOWN,   /* the same */
  DECAY,  /* `drift` at first, falling to a third every 0.2 s */
  BACKWARDS,
  ZERO,
  NOT_A_NUMBER,
  JUMPING,
  TINY,
  KINDS
} machine_kind;

typedef struct machine {
  machine_kind kind;
  double step_s, noise, drift;
  double now_s;
  uint64_t seed, blocks, runs;
  uint64_t stop_at; /* block; 0: never */
} machine;

static pd_status block(void *user, uint64_t number, double *host_s, double *device_s) {
  machine *on = user;
  *device_s = (double)NAN;
  if (++on->blocks == on->stop_at) return PD_STOP;
  on->runs += number;
  double time = on->step_s * (double)number * exp(on->noise * made_noise_normal(&on->seed));
  switch (on->kind) {
  case SPIKES: time *= made_noise_uniform(&on->seed) < 0.1 ? 1 + 2 * made_noise_uniform(&on->seed) : 1; break;
  case TAIL: time /= made_noise_uniform(&on->seed); break;
  case UP: time *= 1 + on->drift * on->now_s; break;
  case DOWN: time /= 1 + on->drift * on->now_s; break;
  case DECAY: time *= 1 + on->drift * exp(-on->now_s / 0.18); break;
  case BACKWARDS: time = -time; break;
  case ZERO: time = 0; break;
  case NOT_A_NUMBER: time = (double)NAN; break;
  case JUMPING: time = on->blocks % 7 == 3 ? 3600 : on->blocks % 5 == 1 ? -3600 : time; break;
  case TINY: time = 1e-300 * (double)on->blocks; break;
  default: break;
  }
  if (time > 0) on->now_s += time;
  *host_s = time;
  return PD_OK;
}

static pd_settled settle(machine *on, pd_measurement *out) {
  *out = (pd_measurement){.threads = 1};
  cr_assert_eq(steady_wait(&usual, block, on, out), PD_OK);
  cr_assert_eq(out->warm_up.blocks, on->blocks);
  cr_assert_eq(out->warm_up.runs, on->runs);
  cr_assert_eq(out->warning_count, out->warm_up.decided == PD_TREND);
  cr_assert(isfinite(out->warm_up.change) && isfinite(out->warm_up.z));
  return out->warm_up.decided;
}

PD_TEST(steady, trend_of_known_times) {
  double times[20];
  for (int i = 0; i < 20; i++) times[i] = 2 + 0.1 * i;
  steady_trend got = steady_trend_of(times, 20);
  cr_assert_float_eq(got.change, 1.9 / 2.95, 1e-12);
  cr_assert_float_eq(got.z, 190 / sqrt(950), 1e-12); /* all pairs rise; the variance is n (n - 1) (2 n + 5) / 18 */
  times[7] = 50;                                     /* one disturbed block moves the slope little */
  got = steady_trend_of(times, 20);
  cr_assert_float_eq(got.change, 1.9 / 2.95, 0.05);
  const double back[] = {4, 3, 3, 1};
  got = steady_trend_of(back, 4);
  cr_assert_float_eq(got.z, -5 / sqrt(4 * 3 * 13 / 18.0), 1e-12);
  cr_assert_float_eq(got.change, -1.0, 1e-12); /* slopes -2 -1 -1 -1 -0.5 0: the middle two are -1 */
  for (int i = 0; i < 20; i++) times[i] = 0;
  got = steady_trend_of(times, 20);
  cr_assert(!(fabs(got.change) > 0) && !(fabs(got.z) > 0));
}

PD_TEST(steady, noise_is_no_trend) {
  static const machine_kind kinds[] = {EVEN, SPIKES, TAIL};
  uint64_t soon = 0, all = 0;
  for (size_t k = 0; k < 3; k++)
    for (int trial = 0; trial < TRIALS; trial++) {
      machine on = {.kind = kinds[k],
                    .step_s = trial % 2 ? 5e-3 : 3e-6,
                    .noise = trial % 4 < 2 ? 0.02 : 0.2,
                    .seed = (uint64_t)trial + 1};
      pd_measurement got;
      const pd_settled decided = settle(&on, &got);
      /* What has no mean may use up the time with a few blocks. */
      cr_assert(decided == PD_SETTLED || (kinds[k] == TAIL && decided == PD_SETTLED_UNKNOWN), "%d %d", trial, decided);
      soon += got.warm_up.blocks <= 40;
      all++;
      measurement_clear(&got);
    }
  cr_assert_geq(soon, all * 95 / 100, "%lu of %lu", soon, all);
}

PD_TEST(steady, a_drift_is_seen_and_said_once) {
  int seen = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    machine on = {.kind = trial % 2 ? UP : DOWN,
                  .step_s = trial % 4 < 2 ? 5e-3 : 3e-6,
                  .noise = 0.005,
                  .drift = 0.4,
                  .seed = (uint64_t)trial + 1};
    pd_measurement got;
    const bool trend = settle(&on, &got) == PD_TREND;
    seen += trend;
    if (trend) {
      cr_assert(got.warm_up.spent_s >= usual.max_time_s && got.warm_up.spent_s < 1.1 * usual.max_time_s);
      cr_assert(strstr(got.warnings[0], "never settled") && !strchr(got.warnings[0], '\n'), "%s", got.warnings[0]);
      cr_assert(strstr(got.warnings[0], on.kind == UP ? "slower" : "faster"), "%s", got.warnings[0]);
    }
    measurement_clear(&got);
  }
  cr_assert_geq(seen, TRIALS * 95 / 100, "%d", seen);
}

PD_TEST(steady, a_warm_up_that_ends_is_waited_for) {
  for (int trial = 0; trial < TRIALS; trial++) {
    machine on = {.kind = DECAY, .step_s = 1e-4, .noise = 0.003, .drift = 0.5, .seed = (uint64_t)trial + 1};
    pd_measurement got;
    cr_assert_eq(settle(&on, &got), PD_SETTLED);
    /* The first blocks were 50 % too slow: less than two per cent of that are left. */
    cr_assert_lt(0.5 * exp(-on.now_s / 0.18), 0.02, "ended after %g s", on.now_s);
    measurement_clear(&got);
  }
}

PD_TEST(steady, ends_on_every_clock) {
  static const double steps[] = {1e-10, 3e-6, 0.01, 0.3, 30};
  for (machine_kind kind = EVEN; kind < KINDS; kind++)
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
      machine on = {.kind = kind, .step_s = steps[i], .drift = 0.1, .seed = 1};
      pd_measurement got;
      const pd_settled decided = settle(&on, &got);
      cr_assert_leq(on.blocks, 2500, "kind %d step %g: %lu blocks", kind, steps[i], on.blocks);
      if (kind == EVEN) cr_assert_eq(decided, steps[i] < 0.2 ? PD_SETTLED : PD_SETTLED_UNKNOWN, "%g", steps[i]);
      if (kind == EVEN && decided == PD_SETTLED_UNKNOWN) cr_assert_eq(on.blocks, 1, "no time is spent in vain");
      measurement_clear(&got);
    }
}

PD_TEST(steady, nothing_is_looked_for_without_time_and_a_signal_ends_it) {
  const steady_rules none = {.window_s = 0.2};
  machine on = {.kind = EVEN, .step_s = 1e-3, .seed = 1};
  pd_measurement got = {.threads = 1};
  cr_assert_eq(steady_wait(&none, block, &on, &got), PD_OK);
  cr_assert_eq(on.blocks, 0);
  cr_assert_eq(got.warm_up.decided, PD_SETTLED_OFF);
  for (uint64_t at = 1; at < 20; at += 9) {
    on = (machine){.kind = EVEN, .step_s = 1e-3, .seed = 1, .stop_at = at};
    cr_assert_eq(steady_wait(&usual, block, &on, &got), PD_STOP);
    cr_assert_eq(got.warning_count, 0);
  }
  measurement_clear(&got);
}

/* A cache that is emptied before each block, by a clock that sees it. */
static pd_status cold_block(void *user, uint64_t number, double *host_s, double *device_s) {
  ((machine *)user)->now_s += 0.08;
  return block(user, number, host_s, device_s);
}

static double machine_clock(void *user) { return ((const machine *)user)->now_s; }

PD_TEST(steady, emptying_the_cache_counts_against_the_time) {
  static const double most_s[] = {2, 0.5};
  for (int i = 0; i < 2; i++) {
    const steady_rules rules = {.window_s = 0.2, .max_time_s = most_s[i], .clock = machine_clock};
    machine on = {.kind = UP, .step_s = 51e-6, .drift = 10};
    pd_measurement got = {.threads = 1};
    cr_assert_eq(steady_wait(&rules, cold_block, &on, &got), PD_OK);
    cr_assert_leq(on.now_s, most_s[i] + 0.2, "%g s", on.now_s);
    cr_assert_eq(got.warm_up.decided, i ? PD_SETTLED_UNKNOWN : PD_TREND);
    measurement_clear(&got);
  }
}
