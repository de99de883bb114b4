/* Intervals that hold the truth as often as they say, and tests that do not cry wolf. */
#include "base/resample.h"

#include "base/random_bits.h"

#include "made_noise.h"
#include "pd_test.h"

enum { TRIALS = 200 };

PD_TEST(resample, the_trimmed_mean_leaves_a_fifth_at_either_end) {
  double values[] = {1000, 2, -50, 3, 4, 1, 5, 6, 7, 8}; /* 1 2 and 8 1000 go with -50 ... */
  cr_assert_float_eq(resample_trimmed_mean(values, 10), (2 + 3 + 4 + 5 + 6 + 7) / 6.0, 1e-12);
  double few[] = {1, 2, 6};
  cr_assert_float_eq(resample_trimmed_mean(few, 3), 3, 1e-12);
  uint64_t seed = 3;
  for (int trial = 0; trial < 2000; trial++) { /* against a sort */
    double random[40], sorted[40];
    const uint64_t count = 1 + random_bits(&seed) % 40, cut = count / 5;
    for (uint64_t i = 0; i < count; i++) random[i] = sorted[i] = floor(10 * made_noise_uniform(&seed));
    for (uint64_t i = 1; i < count; i++)
      for (uint64_t k = i; k && sorted[k] < sorted[k - 1]; k--) {
        const double kept = sorted[k];
        sorted[k] = sorted[k - 1];
        sorted[k - 1] = kept;
      }
    double sum = 0;
    for (uint64_t i = cut; i < count - cut; i++) sum += sorted[i];
    cr_assert_float_eq(resample_trimmed_mean(random, count), sum / (double)(count - 2 * cut), 1e-12);
  }
}

PD_TEST(resample, the_same_seed_gives_the_same_answer) {
  const double a[] = {1, 1.2, 0.9, 1.1, 1.3, 1.05}, b[] = {1.5, 1.4, 1.6, 1.45, 1.7};
  resample_ratio first, again;
  cr_assert(resample_unpaired(a, 6, b, 5, 9, &first) && resample_unpaired(a, 6, b, 5, 9, &again));
  cr_assert(first.ratio == again.ratio && first.low == again.low && first.high == again.high && first.p == again.p);
  cr_assert_float_eq(first.ratio, 1.5 / 1.075, 1e-12);
  cr_assert(first.low <= first.ratio && first.ratio <= first.high);
}

PD_TEST(resample, equal_values_are_no_difference) {
  const double zero[] = {0, 0, 0, 0}, one[] = {1, 1, 1};
  resample_ratio got;
  cr_assert(resample_paired(zero, 4, 1, &got));
  cr_assert(got.ratio == 1 && got.low == 1 && got.high == 1 && got.p == 1);
  cr_assert(resample_unpaired(one, 3, one, 3, 1, &got));
  cr_assert(got.ratio == 1 && got.low == 1 && got.high == 1 && got.p == 1);
}

PD_TEST(resample, one_value_on_a_side_has_no_spread) {
  const double one = 0.1, two = 2;
  resample_ratio got;
  cr_assert(resample_paired(&one, 1, 1, &got));
  cr_assert_float_eq(got.ratio, exp(0.1), 1e-12);
  cr_assert(got.p > 0.9, "one round says nothing");
  cr_assert(resample_unpaired(&one, 1, &two, 1, 1, &got));
  cr_assert_float_eq(got.ratio, 20, 1e-9);
  cr_assert(got.p > 0.9);
}

PD_TEST(resample, paired_intervals_hold_the_truth) {
  int held = 0, small = 0;
  uint64_t seed = 11;
  for (int trial = 0; trial < TRIALS; trial++) {
    double rounds[60];
    for (int i = 0; i < 60; i++) {
      rounds[i] = 0.03 + 0.02 * made_noise_normal(&seed);
      if (made_noise_uniform(&seed) < 0.1) rounds[i] += 0.5 * made_noise_normal(&seed); /* somebody else had the core */
    }
    resample_ratio got;
    cr_assert(resample_paired(rounds, 60, seed, &got));
    held += got.low <= exp(0.03) && exp(0.03) <= got.high;
    for (int i = 0; i < 60; i++) rounds[i] -= 0.03;
    cr_assert(resample_paired(rounds, 60, seed, &got));
    small += got.p < 0.05;
  }
  cr_assert_geq(held, 180, "%d of %d", held, TRIALS);
  cr_assert_leq(small, 17, "%d of %d", small, TRIALS);
}

/* Against a table of Student's t: 4.604 is its 99.5 % quantile at four degrees of freedom, 2.7764 its 97.5 %. */
PD_TEST(resample, few_rounds_are_judged_by_students_t) {
  const double apart[] = {0.1, 0.2, 0.3, 0.4, 0.5}; /* mean 0.3, standard error 0.0707107 */
  double moved[5];
  resample_ratio got;
  resample_student(apart, 5, &got);
  cr_assert_float_eq(log(got.ratio), 0.3, 1e-12);
  cr_assert_float_eq(log(got.low), 0.3 - 2.7764 * 0.0707107, 1e-5);
  cr_assert_float_eq(log(got.high), 0.3 + 2.7764 * 0.0707107, 1e-5);
  for (int i = 0; i < 5; i++) moved[i] = apart[i] - 0.3 + 4.604 * 0.0707107;
  resample_student(moved, 5, &got);
  cr_assert_float_eq(got.p, 0.01, 1e-4);
  const double three[] = {-5.0, -5.1, -5.2};
  resample_student(three, 3, &got);
  cr_assert(got.p < 0.01 && got.high < 0.01, "%g", got.p);
}

/* Rounds without a difference, a tenth of them hit by other work. */
PD_TEST(resample, few_rounds_rarely_call_chance_a_difference) {
  enum { DRAWN = 2000 };
  uint64_t seed = 17;
  for (uint64_t count = RESAMPLE_STUDENT_LEAST; count < RESAMPLE_RANKS_LEAST; count++) {
    int small = 0, held = 0;
    for (int trial = 0; trial < DRAWN; trial++) {
      double rounds[RESAMPLE_RANKS_LEAST];
      for (uint64_t i = 0; i < count; i++) {
        rounds[i] = 0.02 * made_noise_normal(&seed);
        if (made_noise_uniform(&seed) < 0.1) rounds[i] += 0.5 * made_noise_normal(&seed);
      }
      resample_ratio got;
      resample_student(rounds, count, &got);
      small += got.p < 0.01;
      held += got.low <= 1 && 1 <= got.high;
    }
    cr_assert_leq(small, DRAWN * 14 / 1000, "%d of %d with %lu rounds", small, DRAWN, count);
    cr_assert_geq(held, DRAWN * 94 / 100, "%d of %d with %lu rounds", held, DRAWN, count);
  }
}

PD_TEST(resample, differences_have_the_interval_of_their_trimmed_mean) {
  double rounds[40];
  uint64_t seed = 5;
  resample_change got, moved;
  resample_ratio logs;
  for (int i = 0; i < 40; i++) rounds[i] = 0.2 + 0.1 * made_noise_normal(&seed);
  cr_assert(resample_differences(rounds, 40, 3, &got));
  cr_assert(resample_paired(rounds, 40, 3, &logs));
  cr_assert_float_eq(exp(got.change), logs.ratio, 1e-12);
  cr_assert_float_eq(exp(got.low), logs.low, 1e-12);
  cr_assert_float_eq(exp(got.high), logs.high, 1e-12);
  for (int i = 0; i < 40; i++) rounds[i] = 1e6 * rounds[i] - 5e6; /* in other units, from another zero */
  cr_assert(resample_differences(rounds, 40, 3, &moved));
  cr_assert_float_eq(moved.change, 1e6 * got.change - 5e6, 1e-3);
  cr_assert_float_eq(moved.high - moved.low, 1e6 * (got.high - got.low), 1e-3);
}

PD_TEST(resample, unpaired_intervals_hold_the_truth_where_neighbours_are_alike) {
  int held = 0, small = 0;
  uint64_t seed = 13;
  for (int trial = 0; trial < TRIALS; trial++) {
    double side[2][200];
    for (int s = 0; s < 2; s++) {
      double mood = 0;
      for (int i = 0; i < 200; i++) {
        mood = 0.5 * mood + made_noise_normal(&seed);
        side[s][i] = 1e6 * exp(0.01 * mood) * (made_noise_uniform(&seed) < 0.05 ? 1.5 : 1);
      }
    }
    resample_ratio got;
    cr_assert(resample_unpaired(side[0], 200, side[1], 200, seed, &got));
    held += got.low <= 1 && 1 <= got.high;
    small += got.p < 0.05;
  }
  cr_assert_geq(held, 176, "%d of %d", held, TRIALS);
  cr_assert_leq(small, 20, "%d of %d", small, TRIALS);
}

/* Means of skewed samples of six: the interval holds the truth in at least 90 of 100. */
PD_TEST(resample, the_change_of_means_is_within_its_interval) {
  uint64_t seed = 11;
  int held = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    double a[6], b[6];
    for (int i = 0; i < 6; i++) {
      a[i] = 10 + made_noise_normal(&seed);
      b[i] = 13 + 2 * made_noise_normal(&seed);
    }
    resample_change got;
    cr_assert(resample_means(a, 6, b, 6, 7, &got));
    held += got.low <= 3 && 3 <= got.high;
  }
  cr_assert(held >= TRIALS * 90 / 100, "%d of %d", held, TRIALS);
  const double none[] = {0, 0, 0}, some[] = {2, 2, 2, 2};
  resample_change got;
  cr_assert(resample_means(none, 3, some, 4, 1, &got));
  cr_assert(got.change == 2 && got.low == 2 && got.high == 2);
}
