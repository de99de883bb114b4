/* Order statistics against numpy's results and their invariants. */
#include "analysis/stats.h"
#include "pd_test.h"

#include <math.h>
#include <stdlib.h>

PD_TEST(stats, percentiles_are_numpys) {
  /* numpy.percentile([3, 1, 4, 1, 5, 9, 2, 6], [10, 50, 90]) = 1.0, 3.5, 6.9 */
  double values[] = {3, 1, 4, 1, 5, 9, 2, 6};
  pd_spread spread = stats_spread(values, 8);
  cr_assert_float_eq(spread.p10, 1.0, 1e-12);
  cr_assert_float_eq(spread.median, 3.5, 1e-12);
  cr_assert_float_eq(spread.p90, 6.9, 1e-12);
  cr_assert_float_eq(spread.mean, 3.875, 1e-12);
  cr_assert_eq(spread.min, 1);
  cr_assert_eq(spread.max, 9);
  cr_assert_eq(spread.count, 8);
}

PD_TEST(stats, none_and_one_value_are_finite) {
  double one[] = {0.25};
  pd_spread none = stats_spread(one, 0), single = stats_spread(one, 1);
  cr_assert_eq(none.count, 0);
  cr_assert_eq(none.max, 0);
  cr_assert_eq(single.min, 0.25);
  cr_assert_eq(single.max, 0.25);
  cr_assert_eq(single.median, 0.25);
  cr_assert_eq(single.p90, 0.25);
}

PD_TEST(stats, the_order_of_the_figures_holds_on_100000_random_samples) {
  uint32_t seed = 7;
  for (int i = 0; i < 100000; i++) {
    double values[16];
    uint64_t count = 1 + (uint64_t)(i % 16);
    pd_spread s;
    for (uint64_t k = 0; k < count; k++) {
      seed = seed * 1664525 + 1013904223;
      values[k] = (seed >> 8) % 5 ? (double)(seed >> 8) * 1e-9 : 0.1; /* many equal ones */
    }
    s = stats_spread(values, count);
    cr_assert(s.min <= s.p10 && s.p10 <= s.median && s.median <= s.p90 && s.p90 <= s.max);
    cr_assert(s.min <= s.mean && s.mean <= s.max);
    cr_assert(isfinite(s.mean) && isfinite(s.median));
  }
}

PD_TEST(stats, digits_follow_the_spread) {
  double steady[101], noisy[101], equal[5] = {2, 2, 2, 2, 2};
  for (int i = 0; i < 101; i++) {
    steady[i] = 1.0 + 1e-5 * (i - 50);
    noisy[i] = 1.0 + 0.02 * (i - 50) / 50.0 * 20;
  }
  for (int i = 0; i < 101; i++)
    if (noisy[i] < 0.1) noisy[i] = 0.1;
  /* torch.utils.benchmark: sigma of the middle half over the root of its size, times 1.645 */
  cr_assert_eq(stats_digits(steady, 101, 25e-9), 4);
  cr_assert_eq(stats_digits(noisy, 101, 25e-9), 1);
  cr_assert_eq(stats_digits(equal, 5, 25e-9), 4);
  cr_assert_eq(stats_digits(equal, 5, 0.5), 1, "the floor counts");
  cr_assert_float_eq(stats_round(0.0123456, 3), 0.0123, 1e-12);
  cr_assert_float_eq(stats_round(98765, 2), 99000, 1e-9);
  cr_assert_eq(stats_round(0, 3), 0);
}
