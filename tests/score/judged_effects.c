/* What is held against what: the effect of a run, its baselines, the larger of two causes, the gain of a cure. */
#include "score/judge.h"

#include "pd_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
  reading readings[] = {{.cause = "profiler", .step_ns = 90}, /* of the program: nothing */
                        {.cause = "none", .step_ns = 100},
                        {.cause = "none", .step_ns = 150},
                        {.cause = "allocator", .step_ns = 200, .share = 0.45, .expected_ns = 110},
                        {.cause = "failed"},
                        {.cause = "none", .step_ns = 102}};
  fix_trial fixes[6] = {[3] = {"scenario.n=0", 100, 200}, [4] = {"data.n=1", 0, 100}};
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
  cr_assert_eq(self.parts[PART_ALL].ours.fixes_slower, 0);
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
  fixes[3].step_ns = 203; /* the suggestion makes it slower */
  cr_assert(score_judge(&self, &unused));
  cr_assert(out[3].fix_is_slower && !out[4].fix_is_slower);
  cr_assert_eq(self.parts[PART_ALL].ours.fixes_slower, 1);
  cr_assert_eq(self.parts[PART_ALL].rivals[0].fixes_slower, 0);
  cr_assert_eq(self.part_count, 1);
  cr_assert_float_eq(out[3].effect, 0.25, 1e-12);
  cr_assert(out[5].counts && !out[5].off_path);
}

/* Two readings, each of whose rivals says "none". */
static void judge_two(score *self, reading *readings) {
  static error unused;
  for (int i = 0; i < 2; i++)
    for (int r = 0; r < RIVAL_COUNT; r++) readings[i].rivals[r] = "none";
  cr_assert(score_judge(self, &unused));
}

/* What a run of two causes says: their effects, and what the ledger and the verdict make of them. */
static void judge_mixed(const reading *run, judged *out) {
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
  judge_two(&self, readings);
  const bool is_judged = both[1].counts && !isnan(both[1].mixed_error);
  cr_assert_eq(self.parts[PART_ALL].ours.mixed, is_judged);
  cr_assert_eq(self.parts[PART_ALL].rivals[0].mixed, 0, "a rival has no shares");
  if (is_judged) cr_assert_float_eq(self.parts[PART_ALL].ours.value.mixed_error, 100 * both[1].mixed_error, 1e-9);
  *out = both[1];
}

PD_TEST(score, of_two_causes_the_larger_is_to_be_named_and_both_shares_count) {
  judged got;
  reading run = {.cause = "input_bound",
                 .step_ns = 200,
                 .least = 0.05,
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
  cr_assert(got.truth != got.verdict, "the first is the larger");
  run.label = (truth_label){.effect = 0.20, .also = 0.40, .cure_count = 1};
  run.label.cures[0] =
      (truth_label_cure){"input_bound", true, false, 0.38, 0.30, 0.45, 0}; /* of the second, no third cause */
  judge_mixed(&run, &got);
  cr_assert_float_eq(got.effect, 0.40, 1e-12, "what the cure saves is known too badly");
  cr_assert(got.counts && got.truth == got.verdict);
  cr_assert(!got.gain_count && got.unknown_gains == 1, "0.30 to 0.45: known too badly to judge a gain by");
  run.label.cures[0].low = 0.36;
  judge_mixed(&run, &got);
  cr_assert(got.gain_count == 1 && !got.unknown_gains);
  cr_assert_float_eq(got.gain_errors[0], 4, 1e-9);
  cr_assert_float_eq(got.effect, 0.38, 1e-12, "what the cure saves");
  cr_assert(got.counts && got.truth == got.verdict);
  run.unprofiled_ns = 180;
  run.recorded_ns = 210;
  static const struct {
    double own_ns, step_ns;
    uint32_t judged;
  } paces[] = {{0, 0, 1},   {0, 160, 0},   {0, 163, 1},   {0, 230, 1},   {0, 232, 0},
               {200, 0, 1}, {200, 178, 0}, {200, 182, 1}, {200, 218, 1}, {200, 222, 0}};
  for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++) {
    run.label.step_ns = paces[i].own_ns;
    run.label.cures[0].step_ns = paces[i].step_ns;
    judge_mixed(&run, &got);
    cr_assert(got.gain_count == paces[i].judged && got.unknown_gains == 1 - paces[i].judged, "%zu", i);
    cr_assert_float_eq(got.effect, paces[i].judged ? 0.38 : 0.40, 1e-12, "%zu", i);
  }
  run.label.cures[0].step_ns = run.label.step_ns = 0;
  run.label.effect = 0.39; /* more than the cure of the second saves, though less than its injection costs */
  judge_mixed(&run, &got);
  cr_assert_float_eq(got.effect, 0.39, 1e-12);
  cr_assert(!got.counts, "chance decides which is the larger");
  run.label.cures[0].high = 0.385;
  judge_mixed(&run, &got);
  cr_assert(got.counts && got.truth != got.verdict);
  cr_assert_float_eq(got.mixed_error, 0.14, 1e-12);       /* of 24 and 4 points */
  run.label = (truth_label){.effect = 0.50, .also = NAN}; /* nothing measured of the second: one cause as any */
  judge_mixed(&run, &got);
  cr_assert(isnan(got.mixed_error));
}

/* A baseline whose cure saves as much as makes a cause has that cause; of one at the limit nothing can be told. */
PD_TEST(score, a_baseline_is_judged_by_what_its_cures_save) {
  const corpus_group baseline = {.expect = "none"}, injected = {.expect = "allocator"};
  reading run = {
      .cause = "none", .step_ns = 100, .least = 0.05, .label = {.effect = NAN, .also = NAN, .cure_count = 2}};
  run.label.cures[0] = (truth_label_cure){"pinned_copy", true, false, -0.02, -0.03, 0, 0};
  run.label.cures[1] = (truth_label_cure){"launch_bound", true, true, 0.03, 0.02, 0.04, 0};
  cr_assert_str_eq(judge_truth(&baseline, &run), "none");
  run.label.cures[1] = (truth_label_cure){"launch_bound", false, true, 0.08, 0.06, 0.09, 0};
  cr_assert_str_eq(judge_truth(&baseline, &run), "none", "a cure that may remove more than its cause");
  run.label.cures[1].predicted = true;
  cr_assert_str_eq(judge_truth(&baseline, &run), "launch_bound");
  run.label.effect = 0.07;
  cr_assert_str_eq(judge_truth(&injected, &run), "allocator"); /* what else there is may be less */
  run.label.effect = 0.05;
  cr_assert_str_eq(judge_truth(&injected, &run), "launch_bound");
  run.label.cures[1].low = 0.01; /* it may be nothing */
  cr_assert_str_eq(judge_truth(&baseline, &run), "none");
}

/* Without the operations the device would have less work, too: launching is what a graph of them saves. */
PD_TEST(score, launching_that_is_injected_costs_what_a_graph_saves) {
  corpus_cell cells[] = {{.group = 0}, {.group = 0}};
  corpus all = {
      .groups = {{.expect = "launch_bound"}}, .group_count = 1, .cells = cells, .cell_count = 2, .min_effect = 0.05};
  reading readings[2];
  for (int i = 0; i < 2; i++)
    readings[i] = (reading){.cause = "launch_bound",
                            .step_ns = 100,
                            .least = 0.05,
                            .share = 0.2,
                            .captured = 0.09,
                            .label = {.effect = 0.14, .also = NAN, .cure_count = 2}};
  readings[0].label.cures[0] = (truth_label_cure){"launch_bound", true, true, 0.04, 0.03, 0.05, 0};
  readings[0].label.cures[1] = (truth_label_cure){"launch_bound", false, false, 0.2, 0.1, 0.3, 0}; /* other kernels */
  readings[1].label.cures[0] = (truth_label_cure){"launch_bound", true, true, 0.08, 0.07, 0.09, 0};
  readings[1].label.cures[1] =
      (truth_label_cure){"host_compute", true, false, 0.09, 0.06, 0.12, 0}; /* or is that more? */
  fix_trial fixes[2] = {{0}};
  judged both[2];
  score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = both};
  judge_two(&self, readings);
  cr_assert_float_eq(both[0].effect, 0.04, 1e-12);
  cr_assert(!both[0].counts, "an effect below min_effect");
  cr_assert_float_eq(both[1].effect, 0.08, 1e-12);
  cr_assert(!both[1].counts, "two causes of about the same cost");
  cr_assert_float_eq(both[1].share, 0.09, 1e-12, "a graph's effect is held against what a graph is to save");
  readings[1].label.cures[1].share = 0.07;
  readings[1].label.cures[1].high = 0.075;
  judge_two(&self, readings);
  cr_assert(both[1].counts && both[1].truth == both[1].verdict);
  readings[0].label.cures[0].predicted = false; /* no graph was run: it cannot be captured, or it is one already */
  judge_two(&self, readings);
  cr_assert_float_eq(both[0].effect, 0.14, 1e-12);
  readings[0].in_graphs = true;
  judge_two(&self, readings);
  cr_assert_float_eq(both[0].effect, 0, 1e-12);
  cr_assert(!both[0].counts);
}

/* What a cure saved at another pace may be more than what an injection costs, and so may be what that costs. */
PD_TEST(score, a_cure_of_another_pace_leaves_open_what_a_run_is_held_up_by) {
  static const struct {
    const char *injected;
    truth_label_cure cure;
    bool counts;
  } cases[] = {{"allocator", {"launch_bound", true, true, 0.20, 0.19, 0.21, 200}, false},
               {"allocator", {"launch_bound", true, true, 0.20, 0.19, 0.21, 105}, true},
               {"allocator", {"launch_bound", true, true, 0.05, 0.04, 0.06, 200}, true},
               {"launch_bound", {"launch_bound", true, true, 0.09, 0.08, 0.10, 200}, false},
               {"launch_bound", {"launch_bound", true, true, 0.09, 0.08, 0.10, 105}, true},
               {"allocator", {"allocator", true, false, 0.09, 0.08, 0.10, 200}, true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    corpus_cell cells[] = {{.group = 0}, {.group = 0}};
    corpus all = {.group_count = 1, .cells = cells, .cell_count = 2, .min_effect = 0.05};
    strcpy(all.groups[0].expect, cases[i].injected);
    reading readings[2];
    for (int r = 0; r < 2; r++) {
      readings[r] =
          (reading){.cause = "none",
                    .step_ns = 100,
                    .least = 0.05,
                    .label = {.effect = 0.08, .also = NAN, .step_ns = 100, .cures = {cases[i].cure}, .cure_count = 1}};
    }
    fix_trial fixes[2] = {{0}};
    judged both[2];
    score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = both};
    judge_two(&self, readings);
    cr_assert_eq(both[0].counts, cases[i].counts, "%zu", i);
  }
}

/* Without a cure that removes its cause alone, nothing tells what holds a step up. */
PD_TEST(score, a_baseline_counts_only_if_its_cures_tell_what_it_is_held_up_by) {
  static const truth_label_cure graph = {"launch_bound", true, true, 0.02, 0.01, 0.03, 0};
  corpus_cell cells[] = {{.group = 0, .is_baseline = true}, {.group = 1}};
  corpus all = {.groups = {{.expect = "none"}, {.expect = "serial_streams", .off_path = true}},
                .group_count = 2,
                .cells = cells,
                .cell_count = 2,
                .min_effect = 0.05,
                .baseline_classes = 1};
  reading readings[2];
  for (int i = 0; i < 2; i++) {
    readings[i] = (reading){
        .cause = "launch_bound", .step_ns = 100, .least = 0.05, .label = {.effect = 0, .also = NAN, .cure_count = 1}};
    readings[i].label.cures[0] = (truth_label_cure){"launch_bound", false, true, 0.08, 0.07, 0.09, 0};
  }
  fix_trial fixes[2] = {{0}};
  judged both[2];
  score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = both};
  judge_two(&self, readings);
  cr_assert(!both[0].counts && both[1].untold);
  cr_assert_eq(self.parts[PART_ALL].ours.off_path, 0);
  cr_assert_eq(self.parts[PART_ALL].ours.left_out, 2);
  for (int i = 0; i < 2; i++) readings[i].label.cures[readings[i].label.cure_count++] = graph;
  judge_two(&self, readings);
  cr_assert(both[0].counts && both[0].truth != both[0].verdict && !both[1].untold);
  cr_assert_eq(self.parts[PART_ALL].ours.off_path_named, 1);
  for (int i = 0; i < 2; i++) {
    readings[i].label.cure_count = 1; /* nor does it save enough with more than its cause */
    readings[i].label.cures[0].high = 0.045;
  }
  judge_two(&self, readings);
  cr_assert(both[0].counts && both[0].truth != both[0].verdict && !both[1].untold);
  cr_assert_eq(self.parts[PART_ALL].ours.off_path_named, 1);
  for (int i = 0; i < 2; i++) { /* at the limit of what is a cause */
    readings[i].label.cures[0] = graph;
    readings[i].label.cures[0].share = 0.048;
    readings[i].label.cures[0].high = 0.06;
  }
  judge_two(&self, readings);
  cr_assert(!both[0].counts && both[1].untold);
  for (int i = 0; i < 2; i++) { /* as much as a cause, when the machine took twice as long */
    readings[i].label.cures[0].low = readings[i].label.cures[0].share = readings[i].label.cures[0].high = 0.09;
    readings[i].label.step_ns = 100;
    readings[i].label.cures[0].step_ns = 200;
  }
  judge_two(&self, readings);
  cr_assert(!both[0].counts && both[1].untold);
  for (int i = 0; i < 2; i++) readings[i].label.cures[0].step_ns = 105;
  judge_two(&self, readings);
  cr_assert(both[0].counts && both[0].truth == both[0].verdict && both[1].counts && both[1].truth == both[1].verdict);
  strcpy(readings[0].cause, "failed");
  readings[0].step_ns = readings[0].least = 0;
  readings[0].label.cures[0].predicted = false;
  readings[0].label.cures[0].high = 0.09;
  judge_two(&self, readings);
  cr_assert(both[0].counts && both[0].truth != both[0].verdict, "a run that failed");
}

/* The first cure of a cause whose saving its gain predicts; what no replay tells is no error of it. */
PD_TEST(score, a_gain_is_held_against_what_its_cure_saves) {
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
  readings[0].label.cures[0] = (truth_label_cure){"launch_bound", true, true, 0.02, 0.01, 0.03, 0};
  readings[0].label.cures[1] = (truth_label_cure){"launch_bound", false, false, 0.04, 0.03, 0.045, 0};
  readings[0].label.cures[2] = (truth_label_cure){"pageable_copy", true, false, 0.04, 0.03, 0.045, 0};
  readings[0].label.cures[3] = (truth_label_cure){"pageable_copy", true, false, 0.01, 0, 0.02, 0};
  readings[1].label.cures[0] = (truth_label_cure){"launch_bound", true, false, 0.05, 0.04, 0.06, 0}; /* at the limit */
  fix_trial fixes[2] = {{0}};
  judged both[2];
  score self = {.corpus = &all, .readings = readings, .fixes = fixes, .judged = both};
  judge_two(&self, readings);
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
