/* How a dial that is set follows the pace of the machine, and what its rounds say. */
#include "pd_test.h"

#include "run/truth/dial_pace.h"

#include <math.h>

static dial_pace set_dial(double us, double share, bool is_time, double amount, double control_ns) {
  const config_dial asked = {.us = us, .share = share, .most = 1e6, .is_time = is_time, .is_count = !is_time};
  dial_pace self = {.seen = 0};
  truth_block_pair pair = {.without_ns = control_ns};
  for (int i = 0; i < DIAL_PACE_LEAST; i++) dial_pace_see(&self, &pair, 1);
  dial_pace_set(&self, &asked, amount);
  return self;
}

/* The amount after some rounds whose control steps take `control_ns`. */
static double follow(dial_pace *self, double control_ns) {
  truth_block_pair pairs[DIAL_PACE_LEAST];
  double amount = self->set;
  for (int i = 0; i < DIAL_PACE_LEAST; i++) pairs[i] = (truth_block_pair){.without_ns = i % 4 ? control_ns : 9e9};
  for (int round = 0; round < 4; round++) {
    dial_pace_round(self, amount, pairs, DIAL_PACE_LEAST);
    amount = dial_pace_next(self, amount, 0, INFINITY);
  }
  return amount;
}

PD_TEST(dial_pace, a_share_follows_the_pace_of_the_control_steps) {
  dial_pace share = set_dial(0, 0.2, true, 250, 1e6); /* of a step of 1 ms without it */
  cr_assert_float_eq(follow(&share, 1.2e6), 300, 1e-9, "a fifth of a longer step is a longer time");
  cr_assert_float_eq(dial_pace_mean(&share), (250 + 3 * 300) / 4.0, 1e-9);
  cr_assert_float_eq(dial_pace_end(&share, 300), 300, 1e-9);
  dial_pace near = set_dial(0, 0.2, true, 250, 1e6);
  cr_assert_float_eq(follow(&near, 1.01e6), 250, 1e-9, "a hundredth is nothing to follow");
  dial_pace us = set_dial(250, 0, true, 250, 1e6);
  cr_assert_float_eq(follow(&us, 1.2e6), 250, 1e-9, "a time is a time");
  dial_pace count = set_dial(0, 0.2, false, 60, 1e6);
  cr_assert_float_eq(follow(&count, 1.2e6), 60, 1e-9, "each takes longer, and so does the step");
  dial_pace fewer = set_dial(250, 0, false, 60, 1e6);
  cr_assert_float_eq(follow(&fewer, 1.2e6), 50, 1e-9, "as each takes longer, fewer take as long");
  cr_assert_float_eq(follow(&fewer, 0.8e6), 75, 1e-9);
  dial_pace all = set_dial(250, 0, false, 1e6, 1e6);
  cr_assert_float_eq(follow(&all, 1.2e6), 1e6, 1e-9, "the maximum was too little already");
}

PD_TEST(dial_pace, after_the_rounds_all_their_control_steps_say_the_pace) {
  dial_pace share = set_dial(0, 0.2, true, 250, 1e6);
  (void)follow(&share, 1.5e6);
  cr_assert_float_eq(follow(&share, 1.1e6), 275, 1e-9, "the latest eight");
  (void)follow(&share, 1.5e6);
  (void)follow(&share, 1.5e6);
  cr_assert_float_eq(dial_pace_end(&share, 375), 375, 1e-9, "two thirds of the latest 64");
}

/* The amount after rounds in which one of a count costs `times` what the search found, as they say with a standard
 * error of `unsure`. */
static double costing(dial_pace *self, double times, double unsure, int rounds) {
  const truth_block_pair pair = {.without_ns = 1e6};
  double amount = self->set;
  for (int round = 0; round < rounds; round++) {
    dial_pace_round(self, amount, &pair, 1);
    amount = dial_pace_next(self, amount, times * dial_pace_mean(self) / self->set - 1, unsure);
  }
  return amount;
}

PD_TEST(dial_pace, the_rounds_trim_a_count_by_what_one_of_it_costs) {
  dial_pace right = set_dial(0, 0.2, false, 50, 1e6), more = right, unsure = right, wrong = right;
  cr_assert_float_eq(costing(&right, 1, 0.01, 8), 50, 1e-9);
  cr_assert_float_eq(costing(&more, 1.25, 0.001, 64), 40, 0.1);
  cr_assert_float_eq(dial_pace_end(&more, 40), 40, 0.1);
  const double little = costing(&unsure, 1.25, 0.25, 1); /* chance explains it: half of it counts */
  cr_assert_float_eq(little, 50 / 1.125, 1e-9);
  cr_assert_float_eq(costing(&wrong, 3, 0.01, 8), 50, 1e-9, "the search went wrong, and the run says so");
  dial_pace us = set_dial(250, 0, false, 50, 1e6), time = set_dial(0, 0.2, true, 250, 1e6);
  cr_assert_float_eq(costing(&us, 0.8, 0.001, 64), 50 / 0.8, 0.2);
  cr_assert_float_eq(costing(&time, 1.25, 0.001, 64), 250 / 1.25, 0.5, "found while the machine was slower");
}

PD_TEST(dial_pace, a_share_follows_no_pace_that_is_not_known) {
  dial_pace wild = set_dial(0, 0.2, true, 250, 1e6);
  cr_assert_float_eq(follow(&wild, 9e6), 500, 1e-9);
  dial_pace fresh = {.seen = 0};
  const config_dial asked = {.share = 0.2, .most = 1e6, .is_time = true};
  dial_pace_set(&fresh, &asked, 250);
  cr_assert_float_eq(follow(&fresh, 1.2e6), 250, 1e-9, "no control step of the search");
}
