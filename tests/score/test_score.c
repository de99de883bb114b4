/* The score's arithmetic on cells worked out by hand. What is held against what is judged_effects.c's, files are
 * score_inputs.c's. */
#include "score/judge.h"

#include "pd_test.h"

#include <math.h>
#include <string.h>

/* A counted run that is named with certainty and has no figures worth looking at. */
static judged run_of(uint32_t truth, uint32_t verdict) {
  return (judged){
      .truth = truth, .verdict = verdict, .counts = true, .repeatable = 1, .mixed_error = NAN, .fix_error = NAN};
}

static judged effect_of(uint32_t truth, uint32_t verdict, double effect, double share) {
  judged cell = run_of(truth, verdict);
  cell.effect = effect;
  cell.share = share;
  return cell;
}

PD_TEST(score, figures_are_those_of_the_confusion_matrix) {
  /* 3 of none, 2 of cause 1, 2 of cause 2; one false alarm, one cause 2 taken for 1, one small effect. */
  judged cells[] = {run_of(0, 0),
                    run_of(0, 0),
                    effect_of(0, 1, 0, 0.2),
                    effect_of(1, 1, 0.30, 0.32),
                    effect_of(1, 1, 0.50, 0.44),
                    effect_of(2, 1, 0.40, 0.40),
                    effect_of(2, 2, 0.60, 0.59),
                    effect_of(2, 0, 0.05, 0)};
  cells[7].counts = false;
  figures got;
  cr_assert(figures_make(cells, 8, 3, &got));
  cr_assert_eq(got.counted, 7);
  cr_assert_eq(got.left_out, 1);
  cr_assert_eq(got.matrix[0][1], 1);
  cr_assert_eq(got.matrix[2][1], 1);
  cr_assert_eq(got.baselines, 3);
  cr_assert_float_eq(got.value.false_alarms, 1.0 / 3, 1e-12);
  cr_assert_float_eq(got.value.of[0].precision, 1.0, 1e-12);
  cr_assert_float_eq(got.value.of[0].recall, 2.0 / 3, 1e-12);
  cr_assert_float_eq(got.value.of[0].f1, 0.8, 1e-12);
  cr_assert_float_eq(got.value.of[1].precision, 0.5, 1e-12);
  cr_assert_float_eq(got.value.of[1].recall, 1.0, 1e-12);
  cr_assert_float_eq(got.value.of[1].f1, 2.0 / 3, 1e-12);
  cr_assert_float_eq(got.value.of[2].f1, 2.0 / 3, 1e-12);
  cr_assert_float_eq(got.value.macro_f1, (0.8 + 2.0 / 3 + 2.0 / 3) / 3, 1e-12);
  cr_assert_float_eq(got.value.accuracy, 5.0 / 7, 1e-12);
  cr_assert_float_eq(got.value.error_median, 2.0, 1e-9); /* of 1, 2 and 6 points */
  cr_assert_float_eq(got.value.error_p95, 5.6, 1e-9);
  cr_assert(got.low.macro_f1 < got.value.macro_f1 && got.value.macro_f1 < got.high.macro_f1);
  cr_assert(got.low.error_p95 <= 5.6 && got.high.error_p95 >= 5.6);
}

PD_TEST(score, a_verdict_that_no_cause_expects_counts_against_recall_alone) {
  const judged cells[] = {run_of(0, 0), run_of(1, 2)};
  figures got;
  cr_assert(figures_make(cells, 2, 3, &got));
  cr_assert_float_eq(got.value.macro_f1, 0.5, 1e-12); /* of none and cause 1 */
  cr_assert_eq(got.counts[2].named, 1);
}

PD_TEST(score, all_right_is_one_without_a_spread_and_nothing_is_no_figure) {
  const judged cells[] = {run_of(0, 0), run_of(0, 0)};
  figures got;
  cr_assert(figures_make(cells, 2, 1, &got));
  cr_assert(got.value.macro_f1 == 1 && got.low.macro_f1 == 1 && got.high.macro_f1 == 1);
  cr_assert(isnan(got.value.error_median) && isnan(got.low.error_median));
  cr_assert(figures_make(cells, 0, 1, &got));
  cr_assert(isnan(got.value.macro_f1) && isnan(got.high.macro_f1) && got.counted == 0);
}

PD_TEST(score, a_hidden_cause_may_not_be_named) {
  /* Three off the path, one of them named; they are no part of the confusion. */
  judged cells[] = {run_of(0, 0), run_of(1, 1), run_of(1, 0), run_of(1, 0), run_of(1, 1)};
  for (int i = 2; i < 5; i++) {
    cells[i].off_path = true;
    cells[i].counts = false;
  }
  figures got;
  cr_assert(figures_make(cells, 5, 2, &got));
  cr_assert_eq(got.off_path, 3);
  cr_assert_eq(got.counted, 2);
  cr_assert_eq(got.left_out, 0);
  cr_assert_float_eq(got.value.off_path_alarms, 1.0 / 3, 1e-12);
  cr_assert_float_eq(got.value.macro_f1, 1, 1e-12);
}

PD_TEST(score, repeatable_is_held_against_the_hit_rate) {
  /* 10 of 95 % of which 8 are right, 4 of 55 % of which 3 are: (10 * 0.15 + 4 * 0.2) / 14. */
  judged cells[14];
  for (uint32_t i = 0; i < 14; i++) {
    const bool right = i < 8 || (i >= 10 && i < 13);
    cells[i] = run_of(1, right ? 1 : 0);
    cells[i].repeatable = i < 10 ? 0.95 : 0.55;
  }
  figures got;
  cr_assert(figures_make(cells, 14, 2, &got));
  cr_assert_float_eq(got.value.calibration, (10 * 0.15 + 4 * 0.2) / 14, 1e-12);
  cr_assert_eq(got.bins[9].runs, 10);
  cr_assert_eq(got.bins[9].right, 8);
  cr_assert_eq(got.bins[5].runs, 4);
  cr_assert_float_eq(got.bins[5].repeatable, 2.2, 1e-12);
}

PD_TEST(score, unknown_time_and_the_error_of_fixes_are_summed_up) {
  judged cells[] = {run_of(1, 1), run_of(1, 1), run_of(1, 1), run_of(0, 0)};
  cells[0].idle_ns = 100;
  cells[0].unknown_ns = 10;
  cells[3].idle_ns = 300;
  cells[0].fix_error = 0.04;
  cells[1].fix_error = 0.10;
  figures got;
  cr_assert(figures_make(cells, 4, 2, &got));
  cr_assert_float_eq(got.value.unknown, 0.025, 1e-12);
  cr_assert_eq(got.tried, 2);
  cr_assert_float_eq(got.value.fix_error, 0.07, 1e-12);
  cr_assert_eq(got.own_tried, 0);
  cr_assert(isnan(got.value.own_fix_error));
  cells[1].fix_is_own = true;
  cells[2].fix_error = 0.2;
  cr_assert(figures_make(cells, 4, 2, &got));
  cr_assert_eq(got.tried, 3);
  cr_assert_eq(got.own_tried, 1);
  cr_assert_float_eq(got.value.fix_error, 0.1, 1e-12);
  cr_assert_float_eq(got.value.own_fix_error, 0.1, 1e-12);
  cr_assert_float_eq(got.value.core_fix_error, 0.12, 1e-12);
}

PD_TEST(score, a_rate_of_few_runs_has_a_wide_interval) {
  /* Newcombe, Two-sided confidence intervals for the single proportion, Stat. Med. 17 (1998), table I, method 3. */
  static const struct {
    uint32_t part, whole;
    double low, high;
  } published[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}};
  double low, high;
  for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
    figures_rate(published[i].part, published[i].whole, &low, &high);
    cr_assert_float_eq(low, published[i].low, 5e-5);
    cr_assert_float_eq(high, published[i].high, 5e-5);
  }
  figures_rate(20, 20, &low, &high);
  cr_assert(low > 0.8388 && low < 0.8390 && high == 1);
  figures_rate(0, 0, &low, &high);
  cr_assert(isnan(low) && isnan(high));
  /* None of 20 baselines is named, each of 20 runs of a cause is, and one of two hidden ones. */
  judged cells[42];
  for (uint32_t i = 0; i < 42; i++) cells[i] = run_of(i >= 20, i >= 20 && i < 41);
  cells[40].off_path = cells[41].off_path = true;
  figures got;
  cr_assert(figures_make(cells, 42, 2, &got));
  cr_assert(got.low.false_alarms == 0 && got.high.false_alarms > 0.161 && got.high.false_alarms < 0.1612);
  cr_assert(got.low.accuracy > 0.912 && got.low.accuracy < 0.9125 && got.high.accuracy == 1); /* 40 of 40 */
  cr_assert(got.low.off_path_alarms > 0.0945 && got.high.off_path_alarms < 0.9055);
  for (uint32_t c = 0; c < 2; c++)
    cr_assert(got.low.of[c].recall > 0.838 && got.low.of[c].precision < 0.84 && got.high.of[c].precision == 1);
}

static double limit(const double *effects, const double *hits, uint32_t count, double wanted) {
  double used[8];
  uint32_t begins[8];
  memcpy(used, hits, count * sizeof *hits);
  return figures_limit(effects, used, begins, count, wanted);
}

PD_TEST(score, the_detection_limit_is_where_the_monotone_rate_passes) {
  static const double effects[] = {0.01, 0.02, 0.03, 0.04, 0.05, 0.06};
  static const double hits[] = {0, 1, 0, 1, 1, 1}; /* pooled: 0 | 1/2 1/2 | 1 1 1 */
  static const double none[6] = {0}, reversed[] = {1, 1, 0, 0, 0, 0};
  cr_assert_float_eq(limit(effects, hits, 6, 0.5), 0.02, 1e-12);
  cr_assert_float_eq(limit(effects, hits, 6, 0.95), 0.04, 1e-12);
  cr_assert(isnan(limit(effects, none, 6, 0.5)));
  cr_assert(isnan(limit(effects, reversed, 6, 0.5))); /* pooled: a third throughout */
  cr_assert_float_eq(limit(effects, reversed, 6, 0.3), 0.01, 1e-12);
  static const double tied[] = {0.02, 0.02, 0.02, 0.03};
  static const double mixed[] = {0, 1, 1, 1}; /* runs of one effect are one: two thirds, then 1 */
  cr_assert_float_eq(limit(tied, mixed, 4, 0.5), 0.02, 1e-12);
  cr_assert_float_eq(limit(tied, mixed, 4, 0.95), 0.03, 1e-12);
  cr_assert(isnan(limit(tied, mixed, 0, 0.5)));
}

PD_TEST(score, small_effects_are_for_the_detection_limit) {
  judged cells[] = {effect_of(1, 0, 0.02, 0), effect_of(1, 1, 0.04, 0.04), effect_of(1, 1, 0.30, 0.3),
                    effect_of(1, 1, -0.5, 0.02)}; /* the last: named, and shorter with the cause than without */
  cells[0].counts = cells[1].counts = cells[3].counts = false;
  figures got;
  cr_assert(figures_make(cells, 4, 2, &got));
  cr_assert_float_eq(got.value.of[1].limit50, 0.04, 1e-12);
  cr_assert_float_eq(got.value.of[1].limit95, 0.04, 1e-12);
}
