/* Order statistics against numpy's results and their invariants. */
#include "base/stats.h"
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

/* One more than the 90 % interval of the middle half leaves certain, three at least and five at most. */
PD_TEST(stats, digits_follow_the_spread) {
  static const struct {
    double noise;
    uint32_t digits;
  } cases[] = {{0, 5}, {1e-9, 5}, {2e-5, 4}, {2e-4, 3}, {2e-3, 3}, {1, 3}};
  double one[] = {0.25}, none[] = {0, 0, 0}, falling[] = {-2, -2.1, -1.9};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    double values[9];
    for (int i = 0; i < 9; i++) values[i] = 0.01 + (i % 2 ? cases[c].noise : 0);
    cr_assert_eq(stats_digits(values, 9), cases[c].digits, "noise %g: %u digits", cases[c].noise,
                 stats_digits(values, 9));
  }
  cr_assert_eq(stats_digits(one, 1), 4);
  cr_assert_eq(stats_digits(one, 0), 4);
  cr_assert_eq(stats_digits(none, 3), 3);
  cr_assert_eq(stats_digits(falling, 3), 3);
}
