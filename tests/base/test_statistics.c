/* Figures against values that numpy 1.24 gives, and their invariants; tests/tools/check_statistics.py asks numpy
 * itself. */
#include "base/statistics.h"

#include "made_noise.h"
#include "pd_test.h"

PD_TEST(statistics, quantiles_are_numpys) {
  const double values[] = {3000, 1000, 4000, 1000, 5000, 9000, 2000, 6000};
  statistics got;
  cr_assert(statistics_make(values, 8, &got));
  cr_assert_eq(got.count, 8);
  cr_assert_float_eq(got.p25, 1750, 1e-9);
  cr_assert_float_eq(got.median, 3500, 1e-9);
  cr_assert_float_eq(got.p75, 5250, 1e-9);
  cr_assert_float_eq(got.iqr, 3500, 1e-9);
  cr_assert_float_eq(got.p90, 6900, 1e-9);
  cr_assert_float_eq(got.p99, 8790, 1e-9);
  cr_assert_float_eq(got.mean, 3875, 1e-9);
  cr_assert_float_eq(got.mad, 2000, 1e-9);
  cr_assert(got.min == 1000 && got.max == 9000);
  cr_assert(values[0] == 3000 && values[7] == 6000, "the sample stays in its order");
}

PD_TEST(statistics, none_and_one_value) {
  const double one[] = {2.5e-3};
  statistics got;
  cr_assert(statistics_make(one, 0, &got));
  cr_assert(got.count == 0 && got.median == 0 && got.mad == 0);
  cr_assert(statistics_make(one, 1, &got));
  cr_assert(got.median == 2.5e-3 && got.p99 == 2.5e-3 && got.iqr == 0 && got.figures == 4);
}

PD_TEST(statistics, figures_follow_the_spread_and_no_interval_is_below_25_ns) {
  double steady[101], noisy[101];
  const double equal[] = {2, 2, 2, 2, 2}, brief[] = {3e-7, 3e-7, 3e-7}, tiny[] = {1e-8, 1e-8};
  for (int i = 0; i < 101; i++) {
    steady[i] = 1 + 1e-5 * (i - 50);
    noisy[i] = fmax(1 + 0.4 * (i - 50) / 50.0, 0.1);
  }
  cr_assert_eq(statistics_figures(steady, 101), 4);
  cr_assert_eq(statistics_figures(noisy, 101), 1);
  cr_assert_eq(statistics_figures(equal, 5), 4);
  cr_assert_eq(statistics_figures(brief, 3), 1, "300 ns over 25 ns");
  cr_assert_eq(statistics_figures(tiny, 2), 1);
}

PD_TEST(statistics, figures_are_trimmed_as_torch_does) {
  cr_assert_float_eq(statistics_trim(3.14159, 2), 3.1, 1e-12);
  cr_assert_float_eq(statistics_trim(98765, 2), 99000, 1e-9);
  cr_assert_float_eq(statistics_trim(0.0123456, 3), 0.0123, 1e-12);
  cr_assert_float_eq(statistics_trim(1000, 1), 1000, 1e-9);
  cr_assert(statistics_trim(0, 3) == 0);
}

PD_TEST(statistics, units_begin_at_one_of_them) {
  cr_assert_str_eq(statistics_unit(999e-9).symbol, "ns");
  cr_assert_str_eq(statistics_unit(1e-6).symbol, "us");
  cr_assert_str_eq(statistics_unit(2.5e-3).name, "millisecond");
  cr_assert_str_eq(statistics_unit(7e3).symbol, "s");
  cr_assert_str_eq(statistics_unit(5e-10).symbol, "ns");
}

PD_TEST(statistics, the_order_of_the_figures_holds_on_random_samples) {
  uint64_t seed = 7;
  for (int i = 0; i < 20000; i++) {
    double values[24];
    const uint64_t count = 1 + (uint64_t)(i % 24);
    statistics s;
    for (uint64_t k = 0; k < count; k++) values[k] = floor(exp(4 * made_noise_normal(&seed))); /* many equal ones */
    cr_assert(statistics_make(values, count, &s));
    cr_assert(s.min <= s.p25 && s.p25 <= s.median && s.median <= s.p75 && s.p75 <= s.p90 && s.p90 <= s.p99);
    cr_assert(s.p99 <= s.max && s.min <= s.mean && s.mean <= s.max);
    cr_assert(s.mad >= 0 && s.iqr >= 0 && s.figures >= 1 && s.figures <= 4);
  }
}
