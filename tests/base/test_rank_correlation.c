/* Spearman's rank correlation on data whose ranks are known. */
#include "base/rank_correlation.h"

#include "pd_test.h"

#include "base/random_bits.h"

#include <math.h>

static rank_correlation of(const double *x, const double *y, uint64_t count) {
  rank_correlation got;
  cr_assert(rank_correlation_make(x, y, count, &got));
  return got;
}

PD_TEST(rank_correlation, the_order_counts_and_not_the_shape) {
  const double x[] = {3, 1, 4, 15, 9, 2, 6, 5}, squares[] = {9, 1, 16, 225, 81, 4, 36, 25};
  double less[8];
  for (int i = 0; i < 8; i++) less[i] = exp(-x[i]);
  cr_assert_float_eq(of(x, squares, 8).rho, 1, 1e-12);
  cr_assert_float_eq(of(x, less, 8).rho, -1, 1e-12);
  cr_assert_leq(of(x, less, 8).p, 0.002);
}

PD_TEST(rank_correlation, equal_values_share_a_rank) {
  /* Ranks 1 2.5 2.5 4 and 1.5 1.5 3 4: products of what they are off 2.5 are 1.5, 0, 0 and 2.25; squares 4.5 and 4.5.
   */
  const double x[] = {1, 2, 2, 3}, y[] = {5, 5, 6, 7};
  cr_assert_float_eq(of(x, y, 4).rho, 3.75 / 4.5, 1e-12);
}

PD_TEST(rank_correlation, there_is_none_of_few_or_equal_values) {
  const double x[] = {1, 2, 3}, same[] = {4, 4, 4};
  cr_assert(isnan(of(x, x, 2).rho) && isnan(of(x, x, 0).p));
  cr_assert(isnan(of(x, same, 3).rho) && isnan(of(same, x, 3).p));
}

PD_TEST(rank_correlation, chance_alone_is_seldom_told) {
  enum { TRIALS = 200, COUNT = 20 };
  uint64_t state = 5;
  int alarms = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    double x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
      x[i] = (double)(random_bits(&state) >> 11);
      y[i] = (double)(random_bits(&state) >> 11);
    }
    alarms += of(x, y, COUNT).p < 0.05;
  }
  cr_assert(alarms >= 2 && alarms <= 20, "%d of %d", alarms, TRIALS);
}
