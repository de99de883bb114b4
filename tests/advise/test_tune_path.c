/* The way of pdhost tune: what it tries, in which order, and what it keeps. */
#include "advise/tune_path.h"

#include "pd_test.h"

#include <math.h>
#include <string.h>

static predictions two_causes(void) {
  return (predictions){
      .count = 4,
      .all = {{.cause = VERDICT_launch_bound,
               .gain = 0.3,
               .cures = {{.settings = "train.cuda_graph=true", .part = 0.5},
                         {.settings = "train.fused=true", .unpredicted = "no replay", .part = 1}},
               .cure_count = 2},
              {.cause = VERDICT_input_bound,
               .gain = 0.2,
               .cures = {{.settings = "data.num_workers=4 data.prefetch_factor=4", .part = 1}},
               .cure_count = 1},
              {.cause = VERDICT_pinned_copy,
               .gain = 0.001,
               .cures = {{.settings = "data.prefetch_to_device=true", .part = 1}},
               .cure_count = 1},
              {.cause = VERDICT_none,
               .cures = {{.settings = "train.channels_last=true", .unpredicted = "no replay", .part = 1}},
               .cure_count = 1}}};
}

/* Tries the next cure, with a trial of this ratio. */
static bool try_next(tune_path *self, const predictions *of, double ratio, outcome verdict, const char *settings) {
  tune_step step;
  if (!tune_path_next(self, of, &step)) return false;
  cr_assert_str_eq(step.settings, settings);
  step.got = (ab_trial){.of = {.of = {.ratio = ratio}}, .verdict = verdict, .is_measured = true};
  tune_path_add(self, &step);
  return true;
}

PD_TEST(tune_path, the_largest_prediction_first_and_what_no_replay_tells_last) {
  static tune_path self;
  const predictions of = two_causes();
  tune_step step;
  cr_assert(try_next(&self, &of, 1.2, OUTCOME_SLOWER, "train.cuda_graph=true"));
  cr_assert(try_next(&self, &of, 1.0, OUTCOME_SAME, "data.num_workers=4 data.prefetch_factor=4"));
  cr_assert(try_next(&self, &of, 0.5, OUTCOME_UNCLEAR, "train.fused=true"));
  cr_assert(isnan(self.steps[2].predicted) && self.steps[1].predicted == 0.2);
  cr_assert_float_eq(self.steps[0].predicted, 0.15, 1e-12, "half of the gain: a graph keeps its kernels");
  cr_assert(try_next(&self, &of, 0.995, OUTCOME_FASTER, "train.channels_last=true"));
  cr_assert(try_next(&self, &of, 1, OUTCOME_SAME, "data.prefetch_to_device=true"), "recording may hide a gain");
  cr_assert_not(tune_path_next(&self, &of, &step));
  cr_assert_eq(self.kept, 0, "nothing was surely faster by the least");
  cr_assert_str_eq(self.settings, "");
}

PD_TEST(tune_path, a_cure_that_saves_more_than_its_cause_is_no_hidden_one) {
  static tune_path self;
  predictions of = two_causes();
  of.all[1].gain = 0.001;
  of.all[1].cures[0].more = 0.2;
  cr_assert(try_next(&self, &of, 1, OUTCOME_SAME, "train.cuda_graph=true"));
  cr_assert(try_next(&self, &of, 1, OUTCOME_SAME, "data.num_workers=4 data.prefetch_factor=4"));
  cr_assert_float_eq(self.steps[1].predicted, 0.201, 1e-12);
}

PD_TEST(tune_path, what_was_refused_is_tried_again_once_another_is_kept) {
  static tune_path self;
  const predictions of = two_causes();
  char whole[TUNE_SETTINGS];
  cr_assert(try_next(&self, &of, 1.2, OUTCOME_SLOWER, "train.cuda_graph=true"));
  cr_assert(try_next(&self, &of, 0.8, OUTCOME_FASTER, "data.num_workers=4 data.prefetch_factor=4"));
  cr_assert_str_eq(self.settings, "data.num_workers=4 data.prefetch_factor=4");
  cr_assert(try_next(&self, &of, 0.7, OUTCOME_FASTER, "train.cuda_graph=true"));
  cr_assert_str_eq(self.settings, "data.num_workers=4 data.prefetch_factor=4 train.cuda_graph=true");
  cr_assert(try_next(&self, &of, 1, OUTCOME_SAME, "train.fused=true"), "what is kept is not tried again");
  cr_assert_eq(self.kept, 2);
  cr_assert(tune_path_with(&self, "a.b=1", whole));
  cr_assert_str_eq(whole, "data.num_workers=4 data.prefetch_factor=4 train.cuda_graph=true a.b=1");
  cr_assert_eq(tune_path_keep_first(&self), &self.steps[1]);
  cr_assert_str_eq(self.settings, "data.num_workers=4 data.prefetch_factor=4");
  cr_assert(self.kept == 1 && self.steps[1].kept && !self.steps[2].kept && self.steps[2].dropped);
  cr_assert(!self.steps[0].dropped && !self.steps[3].dropped, "what was never kept is not dropped");
}

PD_TEST(tune_path, what_may_well_save_something_is_tried_longer) {
  static tune_path self;
  const predictions of = two_causes();
  cr_assert(try_next(&self, &of, 0.9, OUTCOME_UNCLEAR, "train.cuda_graph=true"));
  cr_assert(try_next(&self, &of, 0.7, OUTCOME_UNCLEAR, "data.num_workers=4 data.prefetch_factor=4"));
  cr_assert(try_next(&self, &of, 0.995, OUTCOME_UNCLEAR, "train.fused=true"));
  cr_assert_eq(tune_path_unsure(&self), &self.steps[1], "which looks best");
  self.steps[1].again = true;
  tune_step *step = tune_path_unsure(&self);
  cr_assert_eq(step, &self.steps[0]);
  ab_trial got = {.of = {.of = {.ratio = 0.92}}, .verdict = OUTCOME_FASTER, .is_measured = true};
  tune_path_settle(&self, step, &got);
  cr_assert(step->kept && self.kept == 1);
  cr_assert_str_eq(self.settings, "train.cuda_graph=true");
  cr_assert_null(tune_path_unsure(&self), "the others were measured without it");
}

PD_TEST(tune_path, what_does_not_run_is_not_kept) {
  static tune_path self;
  const predictions of = two_causes();
  tune_step step;
  cr_assert(tune_path_next(&self, &of, &step));
  step.got = (ab_trial){.verdict = OUTCOME_FASTER};
  tune_path_add(&self, &step);
  cr_assert_eq(self.kept, 0);
}

PD_TEST(tune_path, another_cure_is_tried_though_the_cause_is_gone) {
  static tune_path self;
  predictions of = {.count = 1,
                    .all = {{.cause = VERDICT_input_bound,
                             .gain = 0.4,
                             .cures = {{.settings = "data.num_workers=8", .part = 1},
                                       {.settings = "data.resident=device", .part = 1}},
                             .cure_count = 2}}};
  tune_step step;
  cr_assert(try_next(&self, &of, 0.6, OUTCOME_FASTER, "data.num_workers=8"));
  of.all[0].gain = 0.001;
  cr_assert(try_next(&self, &of, 1.3, OUTCOME_SLOWER, "data.resident=device"));
  cr_assert_not(tune_path_next(&self, &of, &step));
}
