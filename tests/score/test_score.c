/* The score's arithmetic on cells worked out by hand, and corpus files. */
#include "score/judge.h"

#include "pd_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- what is held against what ---- */

PD_TEST(score, the_effect_is_against_the_median_baseline_of_the_same_class) {
  static error unused;
  corpus_cell cells[] = {{.group = 0, .is_baseline = true}, {.group = 0, .is_baseline = true, .held_out = true},
                         {.group = 0, .is_baseline = true}, {.group = 1},
                         {.group = 1, .held_out = true},    {.group = 2}};
  corpus all = {.groups = {{.expect = "none"}, {.expect = "allocator"}, {.expect = "forced_sync", .off_path = true}},
                .group_count = 3,
                .hold_out = 2,
                .min_effect = 0.1,
                .cells = cells,
                .cell_count = 6,
                .baseline_classes = 1};
  reading readings[] = {{.cause = "none", .step_ns = 90},
                        {.cause = "none", .step_ns = 100},
                        {.cause = "none", .step_ns = 150},
                        {.cause = "allocator", .step_ns = 200, .share = 0.45, .expected_ns = 110},
                        {.cause = "failed"},
                        {.cause = "none", .step_ns = 102}};
  fix_trial fixes[6] = {[3] = {"scenario.n=0", 100}, [4] = {"data.n=1", 0}};
  judged out[6];
  score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = out};
  for (int i = 0; i < 6; i++) {
    readings[i].label = (truth_label){.effect = NAN, .also = NAN};
    for (int r = 0; r < RIVAL_COUNT; r++) readings[i].rivals[r] = i == 3 ? "allocator" : "none";
  }
  cr_assert(score_judge(&self, &unused));
  cr_assert_float_eq(out[3].effect, 0.5, 1e-12);
  cr_assert_float_eq(out[3].fix_error, 0.1, 1e-12);
  cr_assert(isnan(out[0].fix_error) && !out[0].fix_without_step);
  cr_assert(out[3].fix_is_own && !out[3].fix_without_step);
  cr_assert(isnan(out[4].fix_error) && out[4].fix_without_step && !out[4].fix_is_own);
  cr_assert_eq(self.parts[PART_ALL].ours.own_tried, 1);
  cr_assert_eq(self.parts[PART_ALL].ours.fixes_without_step, 1);
  cr_assert_eq(self.parts[PART_ALL].rivals[0].fixes_without_step, 0, "a rival suggests nothing");
  cr_assert(out[3].counts && out[4].counts && !out[5].counts && out[5].off_path);
  cr_assert_eq(self.part_count, 3);
  cr_assert_eq(self.parts[PART_ALL].ours.counted, 5);
  cr_assert_eq(self.parts[PART_CALIBRATION].ours.counted, 3);
  cr_assert_eq(self.parts[PART_HELD_OUT].ours.counted, 2);
  cr_assert_float_eq(self.parts[PART_HELD_OUT].ours.value.accuracy, 0.5, 1e-12); /* the run that failed is wrong */
  cr_assert_float_eq(self.parts[PART_CALIBRATION].rivals[0].value.macro_f1, 1, 1e-12);
  /* What the run measured against control steps of its own goes before its baselines. */
  all.hold_out = 0;
  readings[3].label.effect = 0.25;
  readings[5].label.effect = 0.12;
  cr_assert(score_judge(&self, &unused));
  cr_assert_eq(self.part_count, 1);
  cr_assert_float_eq(out[3].effect, 0.25, 1e-12);
  cr_assert(out[5].counts && !out[5].off_path);
}

/* What a run of two causes says: their effects, and what the ledger and the verdict make of them. */
static void judge_mixed(const reading *run, judged *out) {
  static error unused;
  corpus_cell cells[] = {{.group = 0, .is_baseline = true}, {.group = 1}};
  corpus all = {.groups = {{.expect = "none"}, {.expect = "forced_sync", .also = "input_bound"}},
                .group_count = 2,
                .min_effect = 0.1,
                .cells = cells,
                .cell_count = 2,
                .baseline_classes = 1};
  reading readings[] = {{.cause = "none", .step_ns = 100, .label = {.effect = NAN, .also = NAN}}, *run};
  fix_trial fixes[2] = {{0}};
  judged both[2];
  score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = both};
  for (int i = 0; i < 2; i++)
    for (int r = 0; r < RIVAL_COUNT; r++) readings[i].rivals[r] = "none";
  cr_assert(score_judge(&self, &unused));
  cr_assert_eq(self.parts[PART_ALL].ours.mixed, isnan(both[1].mixed_error) ? 0 : 1);
  cr_assert_eq(self.parts[PART_ALL].rivals[0].mixed, 0, "a rival has no shares");
  if (!isnan(both[1].mixed_error))
    cr_assert_float_eq(self.parts[PART_ALL].ours.value.mixed_error, 100 * both[1].mixed_error, 1e-9);
  cr_assert_str_eq(self.causes.all[both[1].truth], run->label.also > run->label.effect ? "input_bound" : "forced_sync");
  *out = both[1];
}

PD_TEST(score, of_two_causes_the_larger_is_to_be_named_and_both_shares_count) {
  judged got;
  reading run = {.cause = "input_bound",
                 .step_ns = 200,
                 .share = 0.42,
                 .shares = {[VERDICT_input_bound] = 0.42, [VERDICT_forced_sync] = 0.15},
                 .label = {.effect = 0.20, .also = 0.40}};
  judge_mixed(&run, &got);
  cr_assert_float_eq(got.effect, 0.40, 1e-12);
  cr_assert_float_eq(got.mixed_error, 0.035, 1e-12); /* of 2 and 5 points */
  cr_assert(got.counts && got.truth == got.verdict);
  run.label = (truth_label){.effect = 0.50, .also = 0.40};
  judge_mixed(&run, &got);
  cr_assert_float_eq(got.effect, 0.50, 1e-12);
  cr_assert(got.truth != got.verdict);
  run.label.also = NAN; /* nothing measured of the second: one cause as any */
  judge_mixed(&run, &got);
  cr_assert(isnan(got.mixed_error));
}

/* A baseline whose cure saves as much as makes a cause has that cause; of one at the limit nothing can be told. */
PD_TEST(score, a_baseline_is_judged_by_what_its_cures_save) {
  const corpus_group baseline = {.expect = "none"}, injected = {.expect = "allocator"};
  reading run = {
      .cause = "none", .step_ns = 100, .least = 0.05, .label = {.effect = NAN, .also = NAN, .cure_count = 2}};
  run.label.cures[0] = (truth_label_cure){.cause = "pinned_copy", .share = -0.02, .low = -0.03, .high = 0};
  run.label.cures[1] = (truth_label_cure){.cause = "launch_bound", .share = 0.03, .low = 0.02, .high = 0.04};
  cr_assert_str_eq(judge_truth(&baseline, &run), "none");
  run.label.cures[1] = (truth_label_cure){.cause = "launch_bound", .share = 0.08, .low = 0.06, .high = 0.09};
  cr_assert_str_eq(judge_truth(&baseline, &run), "launch_bound");
  cr_assert_str_eq(judge_truth(&injected, &run), "allocator");
  run.label.cures[1].low = 0.01; /* it may be nothing */
  cr_assert_str_eq(judge_truth(&baseline, &run), "none");
}

/* The first cure of a cause whose saving its gain predicts; what no replay tells is no error of it. */
PD_TEST(score, a_gain_is_held_against_what_its_cure_saves) {
  static error unused;
  corpus_cell cells[] = {{.group = 0, .is_baseline = true}, {.group = 0, .is_baseline = true}};
  corpus all = {
      .groups = {{.expect = "none"}}, .group_count = 1, .cells = cells, .cell_count = 2, .baseline_classes = 1};
  reading readings[] = {
      {.cause = "none",
       .step_ns = 100,
       .least = 0.05,
       .shares = {[VERDICT_launch_bound] = 0.04, [VERDICT_pageable_copy] = 0.02},
       .captured = 0.03,
       .label = {.effect = NAN, .also = NAN, .cure_count = 4}},
      {.cause = "none", .step_ns = 100, .least = 0.05, .label = {.effect = NAN, .also = NAN, .cure_count = 1}}};
  readings[0].label.cures[0] = (truth_label_cure){"launch_bound", true, true, 0.02, 0.01, 0.03};
  readings[0].label.cures[1] = (truth_label_cure){"launch_bound", false, false, 0.04, 0.03, 0.045};
  readings[0].label.cures[2] = (truth_label_cure){"pageable_copy", true, false, 0.04, 0.03, 0.045};
  readings[0].label.cures[3] = (truth_label_cure){"pageable_copy", true, false, 0.01, 0, 0.02};
  readings[1].label.cures[0] = (truth_label_cure){"launch_bound", true, false, 0.05, 0.04, 0.06}; /* at the limit */
  fix_trial fixes[2] = {{0}};
  judged both[2];
  score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = both};
  for (int i = 0; i < 2; i++)
    for (int r = 0; r < RIVAL_COUNT; r++) readings[i].rivals[r] = "none";
  cr_assert(score_judge(&self, &unused));
  const figures *of = &self.parts[PART_ALL].ours;
  cr_assert_eq(of->gains, 3);
  cr_assert_float_eq(of->value.gain_error_median, 2, 1e-9); /* 1, 2 and 5 points */
  cr_assert_float_eq(of->value.gain_error_p95, 4.7, 1e-9);
  cr_assert(both[0].counts && !both[1].counts);
  cr_assert_eq(self.parts[PART_ALL].rivals[0].gains, 0, "a rival has no gains");
}

PD_TEST(score, what_is_to_be_named_is_the_larger_cause_that_was_measured) {
  const corpus_group mixed = {.expect = "forced_sync", .also = "input_bound"}, single = {.expect = "forced_sync"};
  const reading run = {.step_ns = 200, .label = {.effect = 0.2, .also = 0.4}}, failed = READING_FAILED;
  cr_assert_str_eq(judge_truth(&mixed, &run), "input_bound");
  cr_assert_str_eq(judge_truth(&single, &run), "forced_sync");
  cr_assert_str_eq(judge_truth(&mixed, &failed), "forced_sync");
}

PD_TEST(score, verdicts_of_more_names_than_there_is_room_for_are_no_score) {
  enum { RUNS = FIGURES_CAUSES }; /* with "none" one name too many */
  static corpus all = {.groups = {{.expect = "none"}}, .group_count = 1, .cell_count = RUNS, .baseline_classes = 1};
  static reading readings[RUNS];
  static fix_trial fixes[RUNS];
  static judged out[RUNS];
  static error err;
  corpus_cell cells[RUNS];
  for (uint32_t i = 0; i < RUNS; i++) {
    cells[i] = (corpus_cell){.is_baseline = true};
    readings[i].label = (truth_label){.effect = NAN, .also = NAN};
    snprintf(readings[i].cause, sizeof readings[i].cause, "cause%u", i + 1);
    for (int r = 0; r < RIVAL_COUNT; r++) readings[i].rivals[r] = "none";
  }
  all.cells = cells;
  score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = out};
  cr_assert_not(score_judge(&self, &err));
  cr_assert_eq(err.exit_code, CODE_CONFIG);
  cr_assert_not_null(strstr(err.text, "score: cause24: verdicts of more than 24 names"), "%s", err.text);
  all.cell_count--; /* all names fit */
  error_clear(&err);
  cr_assert(score_judge(&self, &err), "%s", err.text);
  cr_assert_eq(self.parts[PART_ALL].ours.matrix[0][FIGURES_CAUSES - 1], 1);
  readings[3].rivals[1] = "another"; /* a rival's word too many */
  cr_assert_not(score_judge(&self, &err));
  cr_assert_not_null(strstr(err.text, "score: another: "), "%s", err.text);
}

PD_TEST(score, where_a_queue_outlasts_control_steps_the_baselines_count) {
  static error unused;
  for (int by_baselines = 0; by_baselines < 2; by_baselines++) {
    corpus_cell cells[] = {{.group = 0, .is_baseline = true}, {.group = 1}};
    corpus all = {.groups = {{.expect = "none"}, {.expect = "input_bound", .by_baselines = by_baselines}},
                  .group_count = 2,
                  .min_effect = 0.1,
                  .cells = cells,
                  .cell_count = 2,
                  .baseline_classes = 1};
    reading readings[] = {
        {.cause = "none", .step_ns = 100, .label = {.effect = NAN, .also = NAN}},
        {.cause = "input_bound", .step_ns = 160, .label = {.effect = 0.02, .also = NAN, .is_off_path = true}}};
    fix_trial fixes[2] = {{0}};
    judged out[2];
    score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = out};
    for (int i = 0; i < 2; i++)
      for (int r = 0; r < RIVAL_COUNT; r++) readings[i].rivals[r] = "none";
    cr_assert(score_judge(&self, &unused));
    cr_assert_float_eq(out[1].effect, by_baselines ? 0.375 : 0.02, 1e-12);
    cr_assert_eq(out[1].counts, by_baselines);
  }
}

/* `text` in a file of its own. */
static const char *file_of(const char *text) {
  static char path[64];
  strcpy(path, "/tmp/pdhost_score_XXXXXX");
  const int fd = mkstemp(path);
  cr_assert_geq(fd, 0);
  cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
  return path;
}

PD_TEST(score, the_effect_is_read_from_truth_json) {
  static const struct {
    const char *text;
    double effect;
    bool is_off_path;
    double also;
  } files[] = {
      {"{\"effect\": {\"share\": 0.25}, \"also\": [{\"cause\": \"input_bound\", \"effect\": {\"share\": 0.5}}]}", 0.25,
       false, 0.5},
      {"{\"effect\": {\"share\": 0.25}, \"path\": \"on the path\"}", 0.25, false, 0},
      {"{\"effect\": {\"share\": 0}, \"path\": \"present, off the path\"}", 0, true, 0},
      {"{\"effect\": null, \"path\": null}", NAN, false, 0},
      {"[1]", NAN, false, 0},
      {"{\"effect\"", NAN, false, 0}};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    const char *path = file_of(files[i].text);
    const truth_label got = truth_label_read(path);
    unlink(path);
    cr_assert(isnan(files[i].effect) ? isnan(got.effect) : got.effect == files[i].effect, "%zu", i);
    cr_assert_eq(got.is_off_path, files[i].is_off_path);
    cr_assert(files[i].also > 0 ? got.also == files[i].also : isnan(got.also), "%zu", i);
  }
  cr_assert(isnan(truth_label_read("/nowhere/truth.json").effect));
}

static corpus *read_corpus(const char *text, error *err) {
  const char *path = file_of(text);
  error_clear(err);
  corpus *got = corpus_read(path, err);
  unlink(path);
  return got;
}

PD_TEST(score, each_run_has_its_baseline) {
  static error err;
  corpus *got = read_corpus("[corpus]\nseeds = 2\nset = a.b=1 c.d=2\n[base]\nscenario = control\nexpect = none\n"
                            "[slow]\nscenario = s\nexpect = allocator\ndial = data.d\nvalues = 1, 2\n"
                            "[sized]\nscenario = t\nexpect = small_batch\ndial = data.e\nvalues = 3\npaired = true\n",
                            &err);
  cr_assert_not_null(got, "%s", err.text);
  static const char *const names[] = {"base_seed0", "slow_data.d=1_seed0", "slow_data.d=2_seed0", "base_data.e=3_seed0",
                                      "sized_data.e=3_seed0"};
  static const uint32_t baselines[] = {0, 0, 0, 1, 1};
  cr_assert_eq(got->cell_count, 10);
  for (uint32_t i = 0; i < 5; i++) {
    char name[256];
    corpus_cell_name(got, &got->cells[i], name, sizeof name);
    cr_assert_str_eq(name, names[i]);
    cr_assert_eq(got->cells[i].baseline, baselines[i]);
    cr_assert_eq(got->cells[5 + i].baseline, 2 + baselines[i]);
    cr_assert_eq(got->cells[i].is_baseline, i == 0 || i == 3);
    cr_assert_not(got->cells[i].held_out);
  }
  corpus_free(got);
}

PD_TEST(score, sizes_and_repeats_multiply_and_a_share_of_the_cells_is_held_out) {
  static error err;
  corpus *got =
      read_corpus("[corpus]\nsize = data.n=1\nsize2 = data.n=2\nhold_out = 3\nsinks = csv\n"
                  "[base]\nscenario = control\nexpect = none\nrepeat = 2\n"
                  "[slow]\nscenario = s\nexpect = allocator\ndial = data.d\nvalues = 1, 2, 3\nset = data.p=1\n",
                  &err);
  cr_assert_not_null(got, "%s", err.text);
  static const struct {
    const char *name;
    bool held_out;
  } want[] = {{"base_size0_seed0_run0", false},     {"slow_data.d=1_size0_seed0", false},
              {"slow_data.d=2_size0_seed0", true},  {"slow_data.d=3_size0_seed0", false},
              {"base_size0_seed0_run1", true},      {"base_size1_seed0_run0", true},
              {"slow_data.d=1_size1_seed0", true},  {"slow_data.d=2_size1_seed0", false},
              {"slow_data.d=3_size1_seed0", false}, {"base_size1_seed0_run1", false}};
  cr_assert_eq(got->cell_count, 10);
  for (uint32_t i = 0; i < 10; i++) {
    char name[256];
    corpus_cell_name(got, &got->cells[i], name, sizeof name);
    cr_assert_str_eq(name, want[i].name);
    cr_assert_eq(got->cells[i].held_out, want[i].held_out, "%s", name);
    cr_assert_eq(got->cells[i].baseline, i / 5);
  }
  cr_assert_str_eq(got->groups[1].set, "data.p=1");
  cr_assert_str_eq(got->sinks, "csv");
  corpus_free(got);
}

PD_TEST(score, mistakes_of_a_corpus_are_all_told_with_their_lines) {
  static error err;
  cr_assert_null(read_corpus("[corpus]\nseeds = 0\ncolour = red\n[slow]\nscenario = s\nexpekt = x\n", &err));
  cr_assert_eq(err.exit_code, CODE_CONFIG);
  cr_assert_not_null(strstr(err.text, ":2: 0: seeds: a number from 1 to 100"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, ":3: colour: no such key of [corpus]"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, ":6: expekt: no such key"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, ":4: slow: needs scenario and expect"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, "the corpus has no baseline: add a section"), "%s", err.text);
  corpus *mixed = read_corpus("[a]\nscenario = control\nexpect = none\n"
                              "[b]\nscenario = s\nexpect = allocator\nalso = input_bound\neffect = baselines\n"
                              "[c]\nscenario = s\nexpect = allocator\neffect = control\n",
                              &err);
  cr_assert_not_null(mixed, "%s", err.text);
  cr_assert_str_eq(mixed->groups[1].also, "input_bound");
  cr_assert(!mixed->groups[0].by_baselines && mixed->groups[1].by_baselines && !mixed->groups[2].by_baselines);
  corpus_free(mixed);
  cr_assert_null(corpus_read("/nowhere/corpus.ini", &err));
}

#define BASE "[base]\nscenario = control\nexpect = none\n"
#define SLOW BASE "[slow]\nscenario = s\nexpect = allocator\n" /* 6 lines */

PD_TEST(score, a_corpus_that_would_be_taken_otherwise_than_meant_is_refused) {
  static const struct {
    const char *text, *says;
  } all[] = {
      {BASE "[slow]\nscenario = s\nexpect = host_comptue\n",
       ":6: host_comptue: expect: no cause that a verdict names; there are input_bound, forced_sync, launch_bound, "
       "small_batch, allocator, pageable_copy, pinned_copy, host_compute, serial_streams, device_side, profiler, none; "
       "did you mean host_compute?\n"},
      {BASE "[slow]\nscenario = s\nexpect = failed\n", ":6: failed: expect: no cause"}, /* nor are these verdicts */
      {BASE "[slow]\nscenario = s\nexpect = withheld\n", ":6: withheld: expect: no cause"},
      {BASE "[slow]\nscenario = s\nexpect = unnamed\n", ":6: unnamed: expect: no cause"},
      {SLOW "also = allocator\n", ":7: allocator: also: what the loader injects beside the scenario is input_bound"},
      {BASE "[in]\nscenario = s\nexpect = input_bound\nalso = input_bound\n",
       ":7: input_bound: also: a second cause, beside"},
      {"[base]\nscenario = control\nexpect = none\nalso = input_bound\n", ":4: input_bound: also: a second cause"},
      {SLOW "effect = z\n", ":7: z: effect: control or baselines"},
      {BASE "[b]\nscenario = s\nexpect = none\n", ":4: b: the baseline: one section"},
      {SLOW "dial = d.d\nvalues = 3000, 3000\n", ":8: 3000: values: there already; repeat = 2"},
      {SLOW "dial = d.d\nvalues = 1 3e3 2 3000\n", ":8: 3000: values: there already"},
      {SLOW "dial = d.d\nvalues = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", ":8: 17: values: too many"},
      {SLOW "dial = d.d\nvalues = 1\nvalues = 2\n", ":9: values: set twice in this section, first in line 8"},
      {SLOW BASE, ":7: base: there is such a section already, in line 1;"},
      {"[corpus]\nseeds = 2\n" BASE "[corpus]\n", ":6: corpus: there is such a section already, in line 1;"},
      {SLOW "off_path = ja\n", ":7: ja: off_path: not a boolean; write true or false (also yes, no, on, off, 1, 0)"},
      {SLOW "paired = 2\n", ":7: 2: paired: not a boolean"},
      {BASE "[corpus]\nsettle = 3\n", ":5: settle: no such key of [corpus]"},
      {BASE "[corpus]\nset1 = a.b=1\n", ":5: set1: no such key of [corpus]"},
      {BASE "[corpus]\nset02 = a.b=1\n", ":5: set02: no such key of [corpus]"},
      {BASE "[corpus]\nsizes = a.b=1\n", ":5: sizes: no such key of [corpus]"},
      {BASE "[corpus]\nset = a.b=1\nset = a.b=2\n", ":6: set: set twice in this section, first in line 5"},
      {BASE "[corpus]\nset=1\nset2=2\nset3=3\nset4=4\nset5=5\nset6=6\nset7=7\nset8=8\nset9=9\n",
       ":13: 9: too many lines of settings"},
      {BASE "[corpus]\nmin_effect = 1\n", ":5: 1: min_effect: a share, 0 or more and less than 1"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    static error err;
    cr_assert_null(read_corpus(all[i].text, &err), "%zu", i);
    cr_assert_eq(err.exit_code, CODE_CONFIG);
    cr_assert_eq(err.count, 1, "%zu: %s", i, err.text);
    cr_assert_not_null(strstr(err.text, all[i].says), "%zu: %s", i, err.text);
  }
}

PD_TEST(score, truth_values_and_numbered_keys_are_read_as_options_are) {
  static const char *const words[] = {"false", "true", "no", "Yes", "off", "on", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    static error err;
    char text[256];
    snprintf(text, sizeof text, "%soff_path = %s\npaired = %s\n", SLOW, words[i], words[i]);
    corpus *got = read_corpus(text, &err);
    cr_assert_not_null(got, "%s: %s", words[i], err.text);
    cr_assert(got->groups[1].off_path == (i % 2 == 1) && got->groups[1].paired == (i % 2 == 1), "%s", words[i]);
    corpus_free(got);
  }
  static error err;
  corpus *got = read_corpus(SLOW "[corpus]\nset12 = a.b=1\nset = a.c=1\nsize3 = a.d=1\nmin_effect = 0\n", &err);
  cr_assert_not_null(got, "%s", err.text);
  cr_assert(got->set_count == 2 && got->size_count == 1 && got->min_effect == 0);
  cr_assert_str_eq(got->sets[0], "a.b=1");
  corpus_free(got);
}

PD_TEST(score, causes_paired_at_one_value_share_their_baseline) {
  static error err;
  corpus *got = read_corpus(SLOW "dial = data.n\nvalues = 1, 2\npaired = true\n"
                                 "[late]\nscenario = t\nexpect = forced_sync\ndial = data.n\nvalues = 2.0, 3\npaired = "
                                 "true\n",
                            &err);
  cr_assert_not_null(got, "%s", err.text);
  static const char *const names[] = {"base_seed0",          "base_data.n=1_seed0", "slow_data.n=1_seed0",
                                      "base_data.n=2_seed0", "slow_data.n=2_seed0", "late_data.n=2.0_seed0",
                                      "base_data.n=3_seed0", "late_data.n=3_seed0"};
  static const uint32_t classes[] = {0, 1, 1, 2, 2, 2, 3, 3};
  cr_assert_eq(got->cell_count, 8);
  for (uint32_t i = 0; i < 8; i++) {
    char name[256];
    corpus_cell_name(got, &got->cells[i], name, sizeof name);
    cr_assert_str_eq(name, names[i]);
    cr_assert_eq(got->cells[i].baseline, classes[i], "%s", name);
  }
  corpus_free(got);
}
