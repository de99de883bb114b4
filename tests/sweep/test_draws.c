/* Keys that pdhost sweep draws: their distributions, what draws have to meet, that they are the same ones again. */
#include "sweep/draws.h"

#include "pd_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 4000 };

static error err;

static distribution parsed(const char *text) {
  distribution got;
  error_clear(&err);
  cr_assert(distribution_parse(text, &got, &err), "%s: %s", text, err.text);
  return got;
}

static void expect_fails(const char *text, const char *message) {
  distribution got;
  error_clear(&err);
  cr_assert_not(distribution_parse(text, &got, &err), "%s", text);
  cr_assert_eq(err.exit_code, CODE_USAGE);
  cr_assert(strstr(err.text, message), "%s: %s", text, err.text);
  cr_assert_eq(err.count, 1);
}

/* MANY draws of a distribution, as numbers, sorted. */
static const double *numbers(const char *text) {
  static double values[MANY];
  distribution from = parsed(text);
  uint64_t state = 1;
  for (int i = 0; i < MANY; i++) {
    char number[DISTRIBUTION_NUMBER_BYTES];
    cr_assert(distribution_number(distribution_draw(&from, &state, number), &values[i]));
    double value = values[i];
    int k = i;
    for (; k && values[k - 1] > value; k--) values[k] = values[k - 1];
    values[k] = value;
  }
  distribution_free(&from);
  return values;
}

static double share_of(const double *values, double value) {
  int count = 0;
  for (int i = 0; i < MANY; i++) count += fabs(values[i] - value) < 1e-12;
  return (double)count / MANY;
}

PD_TEST(draws, whole_numbers_reach_both_ends_alike) {
  const double *got = numbers("data.batch_size=uniform(3,6)");
  for (int value = 3; value <= 6; value++) cr_assert_float_eq(share_of(got, value), 0.25, 0.03);
  cr_assert(got[0] >= 3 && got[MANY - 1] <= 6);
  got = numbers("a.b=uniform(-1_000,1_000)");
  cr_assert(got[0] >= -1000 && got[0] < -990 && got[MANY - 1] > 990 && got[MANY - 1] <= 1000);
  cr_assert_float_eq(got[MANY / 2], 0, 50);
}

PD_TEST(draws, logarithms_are_uniform) {
  const double *got = numbers("a.b=loguniform(1,10000)");
  cr_assert(got[0] >= 1 && got[MANY - 1] <= 10000 && got[MANY - 1] > 9500);
  cr_assert_float_eq(log10(got[MANY / 4]), 1, 0.15);
  cr_assert_float_eq(log10(got[MANY / 2]), 2, 0.15);
  cr_assert_float_eq(log10(got[3 * MANY / 4]), 3, 0.15);
  /* 1 stands for [1, 2), 2 for [2, 3): the last one is drawn, too. */
  cr_assert_float_eq(share_of(numbers("a.b=loguniform(1,2)"), 2), log(1.5) / log(3), 0.03);
  got = numbers("train.lr=loguniform(1e-5,1e-1)");
  cr_assert(got[0] >= 1e-5 && got[MANY - 1] <= 1e-1);
  cr_assert_float_eq(log10(got[MANY / 2]), -3, 0.15);
}

PD_TEST(draws, steps_begin_at_the_lower_end) {
  const double *got = numbers("data.image_size=uniform(32,100,step=32)");
  for (int value = 32; value <= 96; value += 32) cr_assert_float_eq(share_of(got, value), 1.0 / 3, 0.03);
  got = numbers("a.b=loguniform(32,1024,step=32)");
  for (int i = 0; i < MANY; i++) cr_assert_float_eq(fmod(got[i], 32), 0, 1e-12);
  cr_assert(got[0] < 33 && got[MANY - 1] > 1023 && got[MANY - 1] < 1025);
  got = numbers("a.b=uniform(0.1,0.3,step=0.1)");
  for (int i = 1; i <= 3; i++) cr_assert_float_eq(share_of(got, 0.1 * i), 1.0 / 3, 0.03);
  got = numbers("a.b=uniform(1000000000,1000000010,step=0.25)"); /* no digit of a step is lost */
  for (int i = 0; i < MANY; i++) cr_assert_float_eq(fmod(got[i], 0.25), 0, 1e-12);
  distribution from = parsed("a.b=uniform(0.1,0.9,step=0.1)");
  uint64_t state = 5;
  for (int i = 0; i < 100; i++) {
    char number[DISTRIBUTION_NUMBER_BYTES];
    cr_assert_eq(strlen(distribution_draw(&from, &state, number)), strlen("0.3"), "%s", number);
  }
  distribution_free(&from);
}

PD_TEST(draws, reals_have_few_digits_and_stay_within_their_bounds) {
  const double *got = numbers("a.b=uniform(1.00010001,1.00010002)");
  cr_assert(got[0] >= 1.00010001 && got[MANY - 1] <= 1.00010002 && got[MANY / 4] < got[3 * MANY / 4]);
  distribution from = parsed("a.b=uniform(0,0.5)");
  uint64_t state = 3;
  for (int i = 0; i < 100; i++) {
    char number[DISTRIBUTION_NUMBER_BYTES];
    cr_assert_leq(strlen(distribution_draw(&from, &state, number)), strlen("0.0001234"));
  }
  distribution_free(&from);
}

PD_TEST(draws, a_choice_has_the_shares_of_its_weights) {
  distribution from = parsed("train.amp=choice(true:7,a\\,b:2,c\\:\\\\:1)");
  const char *const texts[] = {"true", "a,b", "c:\\"};
  int counts[3] = {0};
  uint64_t state = 1;
  for (int i = 0; i < MANY; i++) {
    char number[DISTRIBUTION_NUMBER_BYTES];
    const char *got = distribution_draw(&from, &state, number);
    for (int k = 0; k < 3; k++) counts[k] += strcmp(got, texts[k]) == 0;
  }
  cr_assert_float_eq(counts[0], 0.7 * MANY, 0.03 * MANY);
  cr_assert_float_eq(counts[1], 0.2 * MANY, 0.03 * MANY);
  cr_assert_float_eq(counts[2], 0.1 * MANY, 0.03 * MANY);
  cr_assert_not(distribution_is_numeric(&from));
  distribution_free(&from);
  cr_assert_float_eq(share_of(numbers("a.b=choice(16,32,64,128)"), 64), 0.25, 0.03);
}

PD_TEST(draws, mistakes_of_a_distribution) {
  expect_fails("", "write section.key=DISTRIBUTION");
  expect_fails("batch_size=uniform(1,2)", "write section.key=DISTRIBUTION");
  expect_fails("a.b=", "write uniform(LOW,HIGH), loguniform(LOW,HIGH)");
  expect_fails("a.b=1,2", "write uniform(LOW,HIGH)");
  expect_fails("a.b=normal(1,2)", "write uniform(LOW,HIGH)");
  expect_fails("a.b=uniform(1,2", "write uniform(LOW,HIGH)");
  expect_fails("a.b=uniform(1)", "write LOW,HIGH or LOW,HIGH,step=S");
  expect_fails("a.b=uniform(1,2,3)", "write LOW,HIGH or LOW,HIGH,step=S");
  expect_fails("a.b=uniform(1,2,step=1,step=1)", "write LOW,HIGH or LOW,HIGH,step=S");
  expect_fails("a.b=uniform(1,many)", "--sample a.b=uniform(1,many): \"many\" is not a number");
  expect_fails("a.b=uniform(1ms,2ms)", "in the key's own unit");
  expect_fails("a.b=uniform(1,inf)", "\"inf\" is not a number");
  expect_fails("a.b=uniform(1,1e999)", "\"1e999\" is not a number");
  expect_fails("a.b=uniform(2,2)", "LOW is not below HIGH");
  expect_fails("a.b=uniform(-1e308,1e308)", "HIGH is too far above LOW");
  expect_fails("a.b=loguniform(0,2)", "LOW is not above 0");
  expect_fails("a.b=uniform(1,2,step=0)", "the step is not above 0");
  expect_fails("a.b=uniform(0,1,step=1e-12)", "more than 1e9 steps");
  expect_fails("a.b=choice()", "a value is empty");
  expect_fails("a.b=choice(1,,2)", "a value is empty");
  expect_fails("a.b=choice(1,2,1)", "1 is given twice");
  expect_fails("a.b=choice(1:0.5,2)", "give every value a weight, or none");
  expect_fails("a.b=choice(1:0,2:1)", "the weight 0 is not a number above 0");
  expect_fails("a.b=choice(c:/x)", "a colon in a value is written \\:");
  expect_fails("a.b=choice(1:1e308,2:1e308)", "the weights are too large");
}

PD_TEST(draws, a_key_of_whole_numbers_has_whole_bounds) {
  distribution from = parsed("a.b=uniform(1,2.5)");
  cr_assert_not(from.whole);
  cr_assert(distribution_set_whole(&from, false, &err));
  cr_assert_not(distribution_set_whole(&from, true, &err));
  cr_assert(strstr(err.text, "whole numbers alone are drawn"), "%s", err.text);
  distribution_free(&from);
  from = parsed("a.b=uniform(0,1)");
  cr_assert(from.whole);
  cr_assert(distribution_set_whole(&from, false, &err), "a real key");
  uint64_t state = 1;
  char number[DISTRIBUTION_NUMBER_BYTES];
  cr_assert(strchr(distribution_draw(&from, &state, number), '.'), "%s", number);
  distribution_free(&from);
}

PD_TEST(draws, blanks_around_a_part_are_none_of_it) {
  distribution from = parsed(" a.b = loguniform ( 8 , 64, step=8 ) ");
  cr_assert_str_eq(from.section, "a");
  cr_assert_str_eq(from.key, "b");
  cr_assert(from.low == 8 && from.high == 64 && from.step == 8);
  cr_assert_str_eq(from.low_text, "8");
  cr_assert_str_eq(from.high_text, "64");
  distribution_free(&from);
  from = parsed("a.b=choice(x : 1, y z: 2)");
  cr_assert_str_eq(from.values[0], "x");
  cr_assert_str_eq(from.values[1], "y z");
  distribution_free(&from);
  expect_fails("a.b=choice(1, 1)", "1 is given twice");
}

/* ---- what they have to meet ---- */

static bool met(const char *text, double first, double second) {
  const double values[REQUIREMENT_FACTORS] = {first, second};
  requirement need;
  error_clear(&err);
  cr_assert(requirement_parse(text, &need, &err), "%s: %s", text, err.text);
  const bool is = requirement_met(&need, values);
  requirement_free(&need);
  return is;
}

static void expect_no_requirement(const char *text, const char *message) {
  requirement need;
  error_clear(&err);
  cr_assert_not(requirement_parse(text, &need, &err), "%s", text);
  cr_assert(strstr(err.text, message), "%s: %s", text, err.text);
}

PD_TEST(draws, products_are_compared) {
  cr_assert(met("a.b*c.d<=1_000", 10, 100) && !met("a.b*c.d<=1000", 10, 101));
  cr_assert(met("a.b*c.d<1001", 10, 100) && !met("a.b*c.d<1000", 10, 100));
  cr_assert(met("a.b>=c.d", 3, 3) && !met("a.b>=c.d", 2, 3) && !met("a.b>c.d", 3, 3));
  cr_assert(met("a.b<c.d*0.5", 4, 9) && !met("a.b<c.d*0.5", 5, 9));
  requirement spaced;
  cr_assert(requirement_parse("a.b * 2 <= c.d", &spaced, &err));
  cr_assert_str_eq(spaced.factors[0].key, "b");
  cr_assert_str_eq(spaced.factors[2].section, "c");
  requirement_free(&spaced);
  expect_no_requirement("a.b", "nothing is compared");
  expect_no_requirement("a.b==2", "nothing is compared");
  expect_no_requirement("a.b<=", "a factor is neither a section.key nor a number");
  expect_no_requirement("a.b*<=2", "a factor is neither");
  expect_no_requirement("b<2", "a factor is neither");
  expect_no_requirement("1*1*1*1*1*1*1*1<2", "more than eight factors");
}

/* ---- draws ---- */

static void make(draws *out, uint32_t count, uint64_t seed, const char *const *keys, const char *need) {
  *out = (draws){.seed = 0};
  error_clear(&err);
  for (; *keys; keys++) cr_assert(draws_add(out, *keys, &err), "%s", err.text);
  if (need) cr_assert(draws_require(out, need, &err), "%s", err.text);
  cr_assert(draws_make(out, count, seed, &err), "%s", err.text);
  cr_assert_eq(out->count, count);
}

PD_TEST(draws, the_same_seed_draws_the_same_and_more_are_more_of_the_same) {
  const char *const keys[] = {"a.b=loguniform(1,1000)", "c.d=choice(x,y,z)", NULL}, *const alone[] = {keys[0], NULL};
  draws few, many, other, one;
  make(&few, 5, 7, keys, NULL);
  make(&many, 40, 7, keys, NULL);
  make(&other, 40, 8, keys, NULL);
  make(&one, 5, 7, alone, NULL);
  uint32_t same = 0;
  for (uint32_t i = 0; i < 5; i++) {
    for (uint32_t k = 0; k < 2; k++) cr_assert_str_eq(draws_value(&few, i, k), draws_value(&many, i, k));
    cr_assert_str_eq(draws_value(&few, i, 0), draws_value(&one, i, 0), "whatever other keys are drawn");
  }
  for (uint32_t i = 0; i < 40; i++) same += strcmp(draws_value(&many, i, 0), draws_value(&other, i, 0)) == 0;
  cr_assert_lt(same, 5);
  draws_free(&few);
  draws_free(&many);
  draws_free(&other);
  draws_free(&one);
}

/* Fixed once and for all: what was measured before is found again by another build. */
PD_TEST(draws, the_draws_of_a_seed_are_these) {
  const char *const keys[] = {"scenario.batch=loguniform(1,4096)", "train.lr=loguniform(1e-4,1e-1)",
                              "train.amp=choice(true,false)", NULL};
  const char *const expected[] = {"137", "0.00372", "false", "1", "0.01092", "false", "7", "0.05738", "true"};
  draws got;
  make(&got, 3, 7, keys, NULL);
  for (uint32_t i = 0; i < 9; i++) cr_assert_str_eq(got.values[i], expected[i], "%u: %s", i, got.values[i]);
  draws_free(&got);
}

PD_TEST(draws, no_two_are_alike_and_all_meet_what_is_required) {
  const char *const digits[] = {"a.b=uniform(1,8)", "c.d=uniform(1,8)", NULL};
  draws got;
  make(&got, 20, 0, digits, "a.b*c.d<=12");
  for (uint32_t i = 0; i < got.count; i++) {
    cr_assert_leq(strtol(draws_value(&got, i, 0), NULL, 10) * strtol(draws_value(&got, i, 1), NULL, 10), 12);
    for (uint32_t k = 0; k < i; k++)
      cr_assert(strcmp(draws_value(&got, i, 0), draws_value(&got, k, 0)) != 0 ||
                strcmp(draws_value(&got, i, 1), draws_value(&got, k, 1)) != 0);
  }
  error_clear(&err);
  cr_assert_not(draws_make(&got, 28, 0, &err), "there are 27 such pairs");
  cr_assert(strstr(err.text, "--draws: after 27 there was none in 1000 tries that is new and meets"), "%s", err.text);
  draws_free(&got);
}

PD_TEST(draws, mistakes_of_draws) {
  draws got = {.seed = 0};
  error_clear(&err);
  cr_assert(draws_add(&got, "a.b=uniform(1,2)", &err) && draws_add(&got, "c.d=choice(x,y)", &err));
  cr_assert_not(draws_add(&got, "a.b=uniform(3,4)", &err));
  cr_assert(strstr(err.text, "a.b is drawn already"), "%s", err.text);
  error_clear(&err);
  cr_assert(draws_require(&got, "a.e<2", &err) && draws_require(&got, "c.d<2", &err));
  cr_assert_not(draws_make(&got, 1, 0, &err));
  cr_assert(strstr(err.text, "--require a.e<2: a.e is not drawn"), "%s", err.text);
  cr_assert(strstr(err.text, "c.d has values that are not numbers"), "%s", err.text);
  draws_free(&got);
}

PD_TEST(draws, the_ends_are_draws_of_every_bound_and_choice) {
  draws got = {.seed = 0};
  error_clear(&err);
  cr_assert(draws_add(&got, "a.b=uniform(1,2_0)", &err) && draws_add(&got, "c.d=choice(x,y,z)", &err));
  cr_assert(draws_make_ends(&got, &err));
  const char *const expected[] = {"1", "x", "2_0", "y", "2_0", "z"};
  cr_assert_eq(got.count, 3);
  for (uint32_t i = 0; i < 6; i++) cr_assert_str_eq(got.values[i], expected[i]);
  draws_free(&got);
}
