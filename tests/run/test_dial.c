/* The search for the amount whose effect was asked for, on steps whose time is a formula: no clock. */
#include "pd_test.h"

#include "run/truth/dial.h"

#include <pdhost/scenario_kit.h>

#include <math.h>

enum { CONTROL_NS = 5000000 };

typedef struct machine {
  double first_ns, each_ns, power; /* effect: first + each * amount^power, 0 for none */
  double ceiling_ns;               /* of the effect; 0: none */
  double noise;                    /* of both times, +- */
  int calls, most_calls;           /* 0: there is time for all */
  uint32_t random;
} machine;

static double effect_ns(const machine *self, double amount) {
  const double all = amount > 0 ? self->first_ns + self->each_ns * pow(amount, self->power) : 0;
  return self->ceiling_ns > 0 ? fmin(all, self->ceiling_ns) : all;
}

static double noisy(machine *self, double ns) {
  self->random = self->random * 1664525u + 1013904223u;
  return ns * (1 + self->noise * ((double)(self->random >> 8) / (1 << 23) - 1));
}

static pd_status measure(void *user, dial_trial *trial) {
  machine *self = user;
  self->calls++;
  trial->without_ns = noisy(self, CONTROL_NS);
  trial->with_ns = noisy(self, CONTROL_NS + effect_ns(self, trial->amount));
  trial->last = self->calls == self->most_calls;
  return PD_OK;
}

static config_dial asking(double us, double share) {
  return (config_dial){.us = us, .share = share, .start = 24, .most = 1000, .key = "reads_per_step"};
}

/* Per cent that the effect of what was found is off. */
static double error_of(machine *self, const config_dial *asked) {
  double amount = 0;
  cr_assert_eq(dial_find(asked, measure, self, &amount), PD_OK);
  cr_assert_leq(self->calls, DIAL_TRIALS + DIAL_REFINEMENTS);
  cr_assert_geq(amount, asked->none);
  cr_assert_leq(amount, asked->most);
  return 100 * (effect_ns(self, amount) / dial_wanted_ns(asked->us, asked->share, CONTROL_NS) - 1);
}

PD_TEST(dial, times_and_shares_are_found_whatever_the_curve) {
  static const machine machines[] = {{.each_ns = 30000, .power = 1},    /* in proportion */
                                     {.each_ns = 300, .power = 1},      /* far more than it starts with */
                                     {.each_ns = 2000000, .power = 1},  /* less than one a step */
                                     {.each_ns = 20000, .power = 1.5},  /* ever more */
                                     {.each_ns = 150000, .power = 0.5}, /* ever less */
                                     {.first_ns = 100000, .each_ns = 10000, .power = 1}}; /* the first costs most */
  for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
    machine one = machines[i], other = machines[i];
    const config_dial us = asking(200, 0), share = asking(0, 0.05);
    cr_expect_lt(fabs(error_of(&one, &us)), 2.1, "curve %zu: %g %%", i, error_of(&one, &us));
    cr_expect_lt(fabs(error_of(&other, &share)), 2.1, "curve %zu", i);
  }
}

PD_TEST(dial, a_share_is_one_of_the_longer_step) {
  cr_assert_float_eq(dial_wanted_ns(0, 0.5, 100), 100, 1e-9);
  cr_assert_float_eq(dial_wanted_ns(0, 0.2, 100), 25, 1e-9);
  cr_assert_float_eq(dial_wanted_ns(3, 0, 100), 3000, 1e-9);
}

PD_TEST(dial, noise_of_the_steps_stays_in_what_is_found) {
  for (uint32_t seed = 0; seed < 200; seed++) {
    machine one = {.each_ns = 30000, .power = 1, .noise = 0.005, .random = seed};
    const config_dial asked = asking(0, 0.3);
    cr_expect_lt(fabs(error_of(&one, &asked)), 5, "seed %u", seed);
  }
}

PD_TEST(dial, what_was_found_last_is_moved_by_what_it_is_off) {
  const config_dial asked = asking(0, 0.3);
  machine one = {.each_ns = 80000, .power = 1, .most_calls = 2}; /* the first trial is 10 % off */
  cr_expect_lt(fabs(error_of(&one, &asked)), 0.1);
  cr_assert_eq(one.calls, 2);
}

PD_TEST(dial, where_time_is_over_the_nearest_is_taken) {
  double amount = 0;
  const config_dial asked = asking(0, 0.3);
  machine one = {.each_ns = 8000, .power = 1, .most_calls = 1};
  cr_assert_eq(dial_find(&asked, measure, &one, &amount), PD_OK);
  cr_assert_float_eq(amount, asked.start, 1e-9);
}

PD_TEST(dial, what_has_no_effect_or_too_little_ends_at_the_most) {
  double amount = 0;
  const config_dial asked = asking(1000, 0);
  machine none = {.power = 1}, little = {.each_ns = 100, .power = 1};
  cr_assert_eq(dial_find(&asked, measure, &little, &amount), PD_OK);
  cr_assert_float_eq(amount, 1000, 1e-9);
  cr_assert_eq(dial_find(&asked, measure, &none, &amount), PD_OK);
  cr_assert_leq(none.calls, DIAL_TRIALS + DIAL_REFINEMENTS);
}

static pd_status stop(void *user, dial_trial *trial) {
  (void)user;
  trial->with_ns = trial->without_ns = 1;
  return PD_STOP;
}

PD_TEST(dial, a_failure_ends_it) {
  double amount = 0;
  const config_dial asked = asking(10, 0);
  cr_assert_eq(dial_find(&asked, stop, NULL, &amount), PD_STOP);
}

PD_TEST(dial, steps_between_two_counts_have_either_and_the_mean_is_right) {
  int64_t sum = 0;
  pd_step at = {.size = sizeof at, .dialled = 1, .amount = 3.25};
  for (at.index = 0; at.index < 400; at.index++) {
    const int64_t count = pd_kit_count(&at, 24);
    cr_assert(count == 3 || count == 4);
    sum += count;
  }
  cr_assert_eq(sum, 1300);
  at.dialled = 0;
  for (at.index = 0; at.index < 50; at.index++) cr_assert_eq(pd_kit_count(&at, 24), 24);
}
