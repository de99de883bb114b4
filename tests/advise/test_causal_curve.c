/* The statistics of pdhost causal: slopes of made-up measurements, with noise, drift and stalls. */
#include "advise/causal_curve.h"
#include "advise/causal_report.h"
#include "base/random_bits.h"

#include "pd_test.h"

#include <math.h>

enum { LEVELS = 4, ROUNDS = 40 };
#define STEP_NS 5e6

static const double shares[LEVELS] = {0, 0.1, 0.2, 0.4};

static double noise(uint64_t *seed) { return (double)(random_bits(seed) >> 11) * 0x1p-53 - 0.5; }

/* A pipeline in which `slope` of each delay shows: blocks within a per cent, a machine that becomes slower by a third
 * on the way, and every ninth round with a stall of twice the step. */
static causal_curve pipeline(double slope) {
  causal_curve self = {.levels = LEVELS};
  uint64_t seed = 7;
  for (int i = 0; i < ROUNDS; i++) {
    causal_block round[LEVELS];
    for (int k = 0; k < LEVELS; k++) {
      const double put = shares[k] * STEP_NS;
      round[k].put_ns = put * (1 + 0.02 * noise(&seed));
      round[k].step_ns = STEP_NS * (1 + i / (3.0 * ROUNDS) + 0.02 * noise(&seed)) + slope * round[k].put_ns;
    }
    if (i % 9 == 4) round[i % LEVELS].step_ns += 2 * STEP_NS;
    cr_assert(causal_curve_add(&self, round));
  }
  return self;
}

PD_TEST(causal_curve, the_slope_of_a_pipeline_is_found) {
  const double truths[] = {0, 0.5, 1};
  const causal_path paths[] = {CAUSAL_OFF, CAUSAL_PARTLY, CAUSAL_ON};
  for (int i = 0; i < 3; i++) {
    causal_curve self = pipeline(truths[i]);
    causal_figure slope;
    cr_assert(causal_curve_slope(&self, &slope));
    cr_assert_float_eq(slope.value, truths[i], 0.05, "%g for %g", slope.value, truths[i]);
    cr_assert(slope.low < truths[i] && truths[i] < slope.high && slope.high - slope.low < 0.2);
    cr_assert_eq(causal_path_of(&slope), paths[i]);
    causal_curve_free(&self);
  }
}

PD_TEST(causal_curve, each_delay_has_its_change) {
  causal_curve self = {.levels = 3};
  /* A part with slack: what is less than 2 ms does not show. */
  for (int i = 0; i < 10; i++) {
    const causal_block round[] = {{0, 1e7}, {2e6, 1e7}, {6e6, 1.4e7}};
    cr_assert(causal_curve_add(&self, round));
  }
  causal_figure change, slope;
  double put_ns, step_ns;
  cr_assert(causal_curve_change(&self, 1, &change));
  cr_assert_float_eq(change.value, 0, 1e-12);
  cr_assert(causal_curve_change(&self, 2, &change));
  cr_assert_float_eq(change.value, 0.4, 1e-12);
  cr_assert(causal_curve_median(&self, 2, &put_ns, &step_ns));
  cr_assert(put_ns == 6e6 && step_ns == 1.4e7);
  cr_assert(causal_curve_slope(&self, &slope));
  cr_assert_float_eq(slope.value, 0.714286, 1e-5, "%g", slope.value);
  causal_curve_free(&self);
}

PD_TEST(causal_curve, a_wide_interval_says_nothing) {
  cr_assert_eq(causal_path_of(&(causal_figure){0.5, 0.2, 0.8}), CAUSAL_UNCLEAR);
  cr_assert_eq(causal_path_of(&(causal_figure){0.9, 0.6, 1.2}), CAUSAL_UNCLEAR);
  cr_assert_eq(causal_path_of(&(causal_figure){0.05, -0.1, 0.2}), CAUSAL_OFF);
  cr_assert_eq(causal_path_of(&(causal_figure){1, 0.8, 1.3}), CAUSAL_ON);
}

PD_TEST(causal_report, a_gain_whose_part_is_off_the_path_is_contradicted) {
  const predictions of = {.count = 3,
                          .all = {{.cause = VERDICT_host_compute, .gain = 0.2, .low = 0.15},
                                  {.cause = VERDICT_launch_bound, .gain = 0.1, .low = 0.08},
                                  {.cause = VERDICT_none}}};
  const prediction *gain = causal_report_prediction(&of, DELAYS_host);
  cr_assert(gain && gain->cause == VERDICT_host_compute, "the larger of both");
  cr_assert_null(causal_report_prediction(&of, DELAYS_input));
  cr_assert_null(causal_report_prediction(&of, DELAYS_kernels), "no cause lies in the device's work");
  static causal_parts parts;
  causal_part *host = &parts.all[DELAYS_host];
  parts.all[DELAYS_kernels].path = CAUSAL_ON;
  host->path = CAUSAL_OFF;
  cr_assert(causal_report_contradicts(gain, &parts, DELAYS_host));
  cr_assert_not(causal_report_contradicts(&(prediction){.gain = 0.04}, &parts, DELAYS_host));
  const prediction launching = {.cause = VERDICT_launch_bound, .gain = 0.3, .low = 0.28, .high = 0.32};
  cr_assert_not(causal_report_contradicts(&launching, &parts, DELAYS_host), "it lies in the kernels");
  parts.all[DELAYS_kernels].path = CAUSAL_OFF;
  cr_assert(causal_report_contradicts(&launching, &parts, DELAYS_host));
  host->path = CAUSAL_ON;
  cr_assert_not(causal_report_contradicts(gain, &parts, DELAYS_host));
  *host = (causal_part){.path = CAUSAL_OFF, .why = "none in a step"};
  cr_assert_not(causal_report_contradicts(gain, &parts, DELAYS_host));
}
