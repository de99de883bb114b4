/* What the run's steps took before the profiling library was there. */
#include "pd_test.h"

#include "run/unprofiled.h"

PD_TEST(unprofiled, is_the_median_of_three_at_least) {
  unprofiled steps = {0};
  cr_assert_eq(unprofiled_median(&steps), 0);
  unprofiled_add(&steps, 900);
  unprofiled_add(&steps, 100);
  cr_assert_eq(unprofiled_median(&steps), 0);
  unprofiled_add(&steps, 300);
  cr_assert_eq(unprofiled_median(&steps), 300);
}

PD_TEST(unprofiled, forgets_all_but_the_latest) {
  unprofiled steps = {0};
  for (int i = 0; i < 40; i++) unprofiled_add(&steps, 1000000);
  for (int i = 0; i < UNPROFILED_KEPT; i++) unprofiled_add(&steps, i < UNPROFILED_KEPT / 2 ? 10 : 20);
  cr_assert_eq(unprofiled_median(&steps), 15);
}
