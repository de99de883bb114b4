/* The search for the amount whose effect was asked for, on steps whose time is a formula, with a clock that these steps
 * alone move. */
#include "pd_test.h"

#include "run/truth/dial.h"

#include <pdhost/scenario_kit.h>

#include <math.h>
#include <stdio.h>

#define LIMIT_NS INT64_C(20000000000)

typedef struct machine {
  double control_ns;
  double first_ns, each_ns, power; /* effect: first + each * amount^power (0: 1), 0 for none and never less than 0 */
  double ceiling_ns;               /* of the effect; 0: none */
  double quantum;                  /* what an amount is rounded down to; 0: nothing is */
  bool beside;                     /* a control step has the work beside its own: it lasts as long as the longer one */
  bool nowhere;                    /* it has all of it, in the end as late */
  bool counts;                     /* between two counts, steps have either */
  double noise;                    /* of each step, +- */
  double tail;                     /* this part of the steps is ten times as long */
  double drift, drift_s;           /* of the pace, +-, and its period */
  double slower;                   /* factor on the time of steps after the first call of `pairs`; 0: none */
  uint64_t once;                   /* pairs a call */
  double fresh_ns;                 /* of the first step with a count, beside what it has to do */
  bool seen[101];
  bool stops;
  uint64_t index; /* of the steps with the injection */
  int64_t now_ns;
  uint64_t calls;
  int64_t longest_ns; /* of them */
  uint32_t random;
} machine;

static double effect_of_ns(const machine *self, double amount) {
  const double taken = self->quantum > 0 ? floor(amount / self->quantum) * self->quantum : amount;
  const double all = taken > 0 ? self->first_ns + self->each_ns * pow(taken, self->power > 0 ? self->power : 1) : 0;
  return fmax(0, self->ceiling_ns > 0 ? fmin(all, self->ceiling_ns) : all);
}

/* Without noise, on average over the counts. */
static double effect_ns(const machine *self, double amount) {
  if (self->beside) return fmin(self->control_ns, effect_of_ns(self, amount));
  if (!self->counts) return effect_of_ns(self, amount);
  const double part = amount - floor(amount);
  return (1 - part) * effect_of_ns(self, floor(amount)) + part * effect_of_ns(self, floor(amount) + 1);
}

/* From 0 to 1. */
static double chance(machine *self) {
  self->random = self->random * 1664525u + 1013904223u;
  return (double)(self->random >> 8) / (1 << 24);
}

static double step_ns(machine *self, double ns) {
  const double slower = self->slower > 0 && self->calls > 1 ? self->slower : 1,
               pace = slower * (1 + self->drift * sin(6.2832e-9 * (double)self->now_ns / fmax(self->drift_s, 1)));
  const double tail = chance(self) < self->tail ? 10 : 1,
               took = ns * pace * tail * (1 + self->noise * (2 * chance(self) - 1));
  self->now_ns += (int64_t)took;
  return took;
}

/* The first step with a count. */
static double fresh_ns(machine *self, double count) {
  const int at = (int)fmin(count, 100);
  const bool is_fresh = self->fresh_ns > 0 && !self->seen[at];
  self->seen[at] = true;
  return is_fresh ? self->fresh_ns : 0;
}

static pd_status prepare(void *user, double amount) {
  machine *self = user;
  if (self->fresh_ns > 0)
    for (double count = floor(amount); count <= ceil(amount); count++)
      self->now_ns += (int64_t)(fresh_ns(self, count) + self->control_ns);
  return PD_OK;
}

static pd_status pairs(void *user, double amount, truth_block_pair *out, uint64_t *count) {
  machine *self = user;
  const int64_t from_ns = self->now_ns;
  self->calls++;
  if (self->stops) return PD_STOP;
  for (*count = 0; *count < self->once; ++*count) {
    truth_block_pair *pair = &out[*count];
    pair->amount = amount;
    double with = self->control_ns + effect_of_ns(self, amount), without = self->control_ns;
    if (self->beside) without = fmax(without, effect_of_ns(self, amount));
    if (self->nowhere) without = with;
    if (self->counts) {
      const double before = floor(amount * (double)self->index++), has = floor(amount * (double)self->index) - before;
      with = self->control_ns + effect_of_ns(self, has) + fresh_ns(self, has);
      pair->amount = has;
    }
    pair->with_ns = step_ns(self, with);
    pair->without_ns = step_ns(self, without);
  }
  if (self->now_ns - from_ns > self->longest_ns) self->longest_ns = self->now_ns - from_ns;
  return PD_OK;
}

static int64_t now_ns(void *user) { return ((machine *)user)->now_ns; }

static config_dial asking(double us, double share) {
  return (config_dial){.us = us, .share = share, .start = 24, .most = 1000, .key = "reads_per_step", .is_count = true};
}

static const machine usual = {.control_ns = 5000000, .each_ns = 30000, .power = 1, .once = 8, .random = 7};

static double found(machine *self, const config_dial *asked) {
  double amount = 0;
  const dial_source source = {prepare, pairs, now_ns, self};
  cr_assert_eq(dial_find(asked, &source, LIMIT_NS, &amount), PD_OK);
  cr_assert_geq(amount, asked->none);
  cr_assert_leq(amount, asked->most);
  /* what is begun is not cut short */
  cr_expect_leq(self->now_ns, (self->fresh_ns > 0 ? 3 : 1) * LIMIT_NS + self->longest_ns, "%.1f s",
                1e-9 * (double)self->now_ns);
  return amount;
}

/* Per cent that the effect of what was found is off. */
static double error_of(machine *self, const config_dial *asked) {
  const double amount = found(self, asked);
  const double without_ns = self->beside ? fmax(self->control_ns, effect_of_ns(self, amount)) : self->control_ns;
  return 100 * (effect_ns(self, amount) / dial_wanted_ns(asked->us, asked->share, without_ns) - 1);
}

PD_TEST(dial, times_and_shares_are_found_whatever_the_curve) {
  static const machine curves[] = {{.each_ns = 30000, .power = 1},    /* in proportion */
                                   {.each_ns = 300, .power = 1},      /* far more than it starts with */
                                   {.each_ns = 2000000, .power = 1},  /* less than one a step */
                                   {.each_ns = 20000, .power = 1.5},  /* ever more */
                                   {.each_ns = 150000, .power = 0.5}, /* ever less */
                                   {.first_ns = 100000, .each_ns = 10000, .power = 1},  /* the first costs most */
                                   {.first_ns = -900000, .each_ns = 30000, .power = 1}, /* the first cost nothing */
                                   {.first_ns = -9000000, .each_ns = 300000, .power = 1}};
  for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) {
    machine one = curves[i], other;
    one.control_ns = usual.control_ns;
    one.once = usual.once;
    other = one;
    const config_dial us = asking(200, 0), share = asking(0, 0.05);
    const double off = error_of(&one, &us), other_off = error_of(&other, &share);
    cr_expect_lt(fabs(off), 2.1, "curve %zu: %g %%", i, off);
    cr_expect_lt(fabs(other_off), 2.1, "curve %zu: %g %%", i, other_off);
  }
}

PD_TEST(dial, a_share_is_one_of_the_longer_step) {
  cr_assert_float_eq(dial_wanted_ns(0, 0.5, 100), 100, 1e-9);
  cr_assert_float_eq(dial_wanted_ns(0, 0.2, 100), 25, 1e-9);
  cr_assert_float_eq(dial_wanted_ns(3, 0, 100), 3000, 1e-9);
}

typedef struct noise {
  const char *name;
  machine of;
  double most_percent;
} noise;

/* How many of the seeds were within `most_percent`. */
static int right_of(const noise *kind, const config_dial *asked, int seeds, double *worst, double *slowest_s) {
  int right = 0;
  *worst = *slowest_s = 0;
  for (int seed = 0; seed < seeds; seed++) {
    machine one = kind->of;
    one.random = (uint32_t)seed * 77777u + 1;
    const double off = fabs(error_of(&one, asked));
    right += off <= kind->most_percent;
    if (off > *worst) *worst = off;
    if (1e-9 * (double)one.now_ns > *slowest_s) *slowest_s = 1e-9 * (double)one.now_ns;
  }
  return right;
}

PD_TEST_WITH(dial, noise_of_the_steps_stays_out_of_what_is_found, .timeout = 240) {
  static const noise kinds[] = {
      {"a quiet machine", {5e6, .each_ns = 3e4, .once = 8, .noise = 0.005}, 3},
      {"steps of two thirds to four thirds", {5e6, .each_ns = 3e4, .once = 8, .noise = 0.33}, 5},
      {"short steps", {25e4, .each_ns = 3000, .once = 64, .noise = 0.3, .tail = 0.05}, 5},
      {"long steps", {2e8, .each_ns = 3e6, .once = 4, .noise = 0.02}, 5},
      {"one step of ten is ten times as long", {5e6, .each_ns = 3e4, .once = 8, .noise = 0.1, .tail = 0.1}, 5},
      {"the pace changes", {5e6, .each_ns = 3e4, .once = 8, .noise = 0.05, .drift = 0.3, .drift_s = 7}, 5},
      {"both", {5e6, .each_ns = 3e4, .once = 8, .noise = 0.1, .tail = 0.05, .drift = 0.2, .drift_s = 3}, 5},
      {"a queue hides the first", {5e6, -9e6, .each_ns = 6e5, .once = 8, .noise = 0.1, .tail = 0.02}, 5},
      {"few counts", {5e6, .each_ns = 2.9e6, .counts = true, .once = 8, .noise = 0.1, .tail = 0.05}, 5},
      {"a curve", {5e6, .each_ns = 9e5, .power = 0.5, .once = 8, .noise = 0.1, .tail = 0.05}, 5},
      {"steps of the setting", {5e6, .each_ns = 3e4, .quantum = 2, .once = 8, .noise = 0.1}, 5},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    for (int half = 0; half < 2; half++) {
      enum { SEEDS = 3 };
      double worst, slowest_s;
      const config_dial asked = asking(0, half ? 0.4 : 0.2);
      const int right = right_of(&kinds[i], &asked, SEEDS, &worst, &slowest_s);
      fprintf(stderr, "%-40s %.1f: %d of %d, worst %.1f %%, slowest %.1f s\n", kinds[i].name, asked.share, right, SEEDS,
              worst, slowest_s);
      cr_expect_geq(right, SEEDS - 1, "%s, %.1f: %d of %d within %g %%, worst %.1f %%", kinds[i].name, asked.share,
                    right, SEEDS, kinds[i].most_percent, worst);
    }
}

/* Work that control steps have beside their own: they last as long as the longer one, and the share of it is one that
 * less work has, too. */
PD_TEST(dial, too_much_beside_a_control_step_does_not_lead_astray) {
  static const double shares[] = {0.1, 0.2, 0.4, 0.45};
  for (int i = 0; i < 4; i++) {
    enum { SEEDS = 4 };
    int right = 0;
    double worst = 0;
    config_dial asked = asking(0, shares[i]);
    asked.is_time = true;
    asked.start = 3000; /* longer than the step */
    asked.most = 1e7;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
      machine one = {7e5, .each_ns = 1000, .beside = true, .noise = 0.2, .tail = 0.05, .once = 32};
      one.random = seed * 77777u + 1;
      const double amount = found(&one, &asked), wanted = 1e-3 * dial_wanted_ns(0, shares[i], one.control_ns);
      worst = fmax(worst, 100 * fabs(amount / wanted - 1));
      right += fabs(amount / wanted - 1) < 0.05;
    }
    cr_expect_geq(right, SEEDS - 1, "%g: %d of %d, worst %g %%", shares[i], right, SEEDS, worst);
  }
}

/* Other programs begin after the first trial. Each control step is longer then, and not because of the work beside it.
 */
PD_TEST(dial, a_machine_that_becomes_slower_does_not_lead_astray) {
  static const double shares[] = {0.2, 0.4};
  for (int i = 0; i < 2; i++)
    for (uint32_t seed = 0; seed < 4; seed++) {
      machine one = {7e5, .each_ns = 1000, .beside = true, .noise = 0.05, .slower = 2, .once = 32};
      config_dial asked = asking(0, shares[i]);
      asked.is_time = true;
      asked.most = 1e7;
      one.random = seed * 77777u + 1;
      const double amount = found(&one, &asked), wanted = 1e-3 * dial_wanted_ns(0, shares[i], one.control_ns);
      cr_expect_lt(fabs(amount / wanted - 1), 0.05, "%g: %g us, not %g", shares[i], amount, wanted);
    }
}

/* There is time for one trial with an injection, and none to find out why its control steps are longer. */
PD_TEST(dial, a_machine_that_becomes_slower_at_the_end_gets_what_is_in_proportion) {
  config_dial asked = asking(0, 0.2);
  asked.is_time = true;
  asked.most = 1e7;
  machine one = {7e5, .each_ns = 1000, .beside = true, .slower = 2, .once = 32};
  double amount = 0;
  const dial_source source = {prepare, pairs, now_ns, &one};
  cr_assert_eq(dial_find(&asked, &source, 60000000, &amount), PD_OK); /* a call takes 45 ms or more */
  cr_assert_eq(one.calls, 2);
  cr_assert_float_eq(amount, 1e-3 * dial_wanted_ns(0, 0.2, one.control_ns), 1e-3);
}

/* No core is free for it: a control step takes all of it, too. */
PD_TEST(dial, a_share_that_no_amount_has_ends_the_search) {
  config_dial asked = asking(0, 0.2);
  asked.is_time = true;
  asked.most = 1e7;
  machine one = {7e5, .each_ns = 1000, .nowhere = true, .noise = 0.2, .tail = 0.05, .once = 32, .random = 1};
  cr_expect_lt(found(&one, &asked), 2 * 1e-3 * one.control_ns);
}

PD_TEST(dial, counts_between_two_are_right_on_average) {
  for (int i = 1; i < 20; i++) { /* amounts from 0.1 to 1.9 */
    machine one = {.control_ns = 5e6, .each_ns = 4e6, .power = 1, .counts = true, .once = 8};
    config_dial asked = asking(400. * i, 0);
    const double amount = found(&one, &asked);
    cr_expect_float_eq(amount, 0.1 * i, 0.02 * fmax(0.1 * i, 0.5), "%g for %g", amount, 0.1 * i);
  }
}

/* As where a GPU's libraries look for the best kernels of shapes that they have not had. */
PD_TEST(dial, first_steps_with_a_count_take_nothing_from_the_search) {
  for (int i = 1; i < 8; i++) {
    machine one = {.control_ns = 5e6, .each_ns = 9e5, .power = 0.8, .counts = true, .once = 8, .fresh_ns = 8e9};
    const config_dial asked = asking(300. * i, 0);
    const double off = error_of(&one, &asked);
    cr_expect_lt(fabs(off), 3, "%d us: %g %%", 300 * i, off);
    const double fresh = fresh_ns(&one, floor(found(&one, &asked)));
    cr_expect_eq(fresh, 0, "what was found is prepared, too");
  }
}

/* 100 us are asked for of steps of 3 s: there is time for few of them. */
PD_TEST(dial, where_time_is_over_the_nearest_is_taken) {
  const config_dial asked = asking(0, 0.3);
  machine one = {.control_ns = 3e9, .each_ns = 1e8, .power = 1, .once = 1}, other = one;
  cr_expect_lt(fabs(error_of(&one, &asked)), 20);
  double amount = 0;
  const dial_source source = {prepare, pairs, now_ns, &other};
  cr_assert_eq(dial_find(&asked, &source, 1, &amount), PD_OK);
  cr_assert_eq(other.calls, 1);
  cr_assert_gt(amount, 0);
  /* For a time, the one trial injects nothing. */
  config_dial time = asked;
  time.is_time = true;
  time.most = 1e7;
  cr_assert_eq(dial_find(&time, &source, 1, &amount), PD_OK);
  cr_assert_float_eq(amount, 1e-3 * dial_wanted_ns(0, 0.3, one.control_ns), 1e-3);
}

PD_TEST(dial, what_has_no_effect_or_too_little_ends) {
  const config_dial asked = asking(1000, 0);
  machine none = {.control_ns = 5e6, .power = 1, .once = 8}, little = none, ceiling = none;
  little.each_ns = 100;
  ceiling.each_ns = 1000;
  ceiling.ceiling_ns = 30000;
  cr_assert_float_eq(found(&little, &asked), 1000, 1e-9);
  cr_assert_leq(found(&none, &asked), 1000);
  cr_assert_leq(found(&ceiling, &asked), 1000);
  cr_expect_lt(none.now_ns, LIMIT_NS);
  cr_expect_lt(ceiling.now_ns, LIMIT_NS);
}

PD_TEST(dial, a_failure_ends_it) {
  double amount = 0;
  const config_dial asked = asking(10, 0);
  machine one = usual;
  one.stops = true;
  const dial_source source = {prepare, pairs, now_ns, &one};
  cr_assert_eq(dial_find(&asked, &source, LIMIT_NS, &amount), PD_STOP);
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
