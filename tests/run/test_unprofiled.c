/* What the run's steps took before the profiling library was there. */
#include "pd_test.h"

#include "run/unprofiled.h"

#include <math.h>

PD_TEST(unprofiled, is_the_median_of_three_at_least) {
  unprofiled steps = {0};
  cr_assert_eq(unprofiled_step(&steps), 0);
  unprofiled_add(&steps, 900);
  unprofiled_add(&steps, 100);
  cr_assert_eq(unprofiled_step(&steps), 0);
  unprofiled_add(&steps, 300);
  cr_assert_eq(unprofiled_step(&steps), 300);
}

PD_TEST(unprofiled, forgets_all_but_the_latest) {
  unprofiled steps = {0};
  for (int i = 0; i < 40; i++) unprofiled_add(&steps, 1000000);
  for (int i = 0; i < UNPROFILED_KEPT; i++) unprofiled_add(&steps, i < UNPROFILED_KEPT / 2 ? 10 : 20);
  cr_assert_eq(unprofiled_step(&steps), 15);
}

/* The steps of both blocks of `count` rounds: a machine that gets slower all the time, and recording that adds a tenth.
 */
static void slower_and_slower(unprofiled *steps, uint64_t count, double added) {
  for (uint64_t round = 0; round < count; round++)
    for (uint64_t i = 0; i < 4; i++) {
      /* A B, B A, A B: the step's place in time is what drifts. */
      const bool recorded = (i < 2) == (round % 2 == 0);
      const double ns = 1e6 * (1 + 0.01 * (double)(4 * round + i));
      unprofiled_twin_add(steps, round, recorded, (int64_t)(recorded ? ns * (1 + added) : ns));
    }
}

PD_TEST(unprofiled, the_twin_tells_what_recording_adds_beside_a_drift) {
  unprofiled steps = {0};
  pd_twin twin;
  slower_and_slower(&steps, 16, 0.1);
  cr_assert(unprofiled_twin_cost(&steps, &twin));
  cr_assert_eq(twin.rounds, 16);
  const double share = (double)twin.added_ns / (double)twin.step_ns;
  cr_assert(fabs(share - 0.1) < 0.01, "%f", share);
  cr_assert_lt(twin.low_ns, twin.added_ns);
  cr_assert_lt(twin.added_ns, twin.high_ns);
  cr_assert_gt(twin.low_ns, 0);
  unprofiled_twin_begin(&steps); /* of another window */
  slower_and_slower(&steps, 16, 0);
  cr_assert(unprofiled_twin_cost(&steps, &twin));
  cr_assert_lt(twin.low_ns, 0);
  cr_assert_gt(twin.high_ns, 0);
  unprofiled_close(&steps);
}

PD_TEST(unprofiled, a_twin_of_one_round_tells_nothing) {
  unprofiled steps = {0};
  pd_twin twin;
  cr_assert(unprofiled_twin_cost(&steps, &twin));
  cr_assert_eq(twin.rounds, 0);
  unprofiled_twin_add(&steps, 0, true, 110);
  unprofiled_twin_add(&steps, 0, false, 100);
  unprofiled_twin_add(&steps, 1, false, 100); /* cut short */
  cr_assert(unprofiled_twin_cost(&steps, &twin));
  cr_assert_eq(twin.rounds, 0);
  cr_assert_eq(twin.added_ns, 0);
  unprofiled_twin_add(&steps, 1, true, 110);
  cr_assert(unprofiled_twin_cost(&steps, &twin));
  cr_assert_eq(twin.rounds, 2);
  cr_assert_eq(twin.added_ns, 10);
  unprofiled_close(&steps);
}
