/* small_batch: the samples of a step in many passes. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(small_batch, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "small_batch", NULL);
  scenario_rig_expect(&rig, "small_batch", "small_batch", presets);
  scenario_rig_close(&rig);
}

static void expect_passes(const char *override, bool control, uint64_t passes) {
  scenario_rig rig;
  const char *const overrides[] = {override, NULL};
  scenario_rig_open(&rig, "small_batch", overrides);
  rig.control = control;
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  cr_assert_eq(trace_ranges(trace, "forward"), passes * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "backward"), passes * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "Optimizer.step#AdamW.step"), SCENARIO_STEPS);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE), 0);
  cr_assert_eq(trace_ranges(trace, "aten::item"), 0);
  /* each pass takes its share of the samples, no more and no less */
  int64_t samples = 0;
  for (uint64_t i = 0; i < trace_ranges(trace, "aten::cross_entropy_loss"); i++) {
    const pd_range *range = trace_range(trace, "aten::cross_entropy_loss", i);
    samples += PD_AT(pd_shape, &trace->shapes, range->shape_first)->dims[0];
  }
  cr_assert_eq(samples, SCENARIO_BATCH * SCENARIO_STEPS);
  cr_assert_geq(trace_calls(trace, PD_API_LAUNCH), 15 * passes * SCENARIO_STEPS);
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(small_batch, passes_share_the_samples) { expect_passes("passes=3", false, 3); }
PD_TEST(small_batch, one_pass_takes_them_all) { expect_passes("passes=1", false, 1); }

PD_TEST(small_batch, no_pass_is_without_a_sample) { expect_passes("passes=1000", false, SCENARIO_BATCH); }
PD_TEST(small_batch, a_control_step_is_one_pass) { expect_passes("passes=4", true, 1); }

/* The gradients of the passes add up: the sum of the parts' mean losses is the whole's, times the number of parts. */
PD_TEST(small_batch, gradients_add_up) {
  train_rig rig;
  train_rig_open(&rig);
  const train_config config = train_rig_config();
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  pd_batch batch = train_rig_batch(4, 16, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  train_parameter parameter;
  cr_assert_eq(train_kit_parameter(rig.kit, 7, &parameter), PD_OK);
  float *whole = calloc((size_t)parameter.count, sizeof *whole),
        *parts = calloc((size_t)parameter.count, sizeof *parts);
  bool present = false;
  pd_tensor images;
  train_rig_ok(&rig, rig.train->to_device(rig.train, &at, &images), "to_device");
  for (int split = 0; split < 2; split++) {
    train_rig_ok(&rig, rig.train->zero_grad(rig.train), "zero_grad");
    for (int64_t first = 0; first < 4; first += split ? 2 : 4) {
      train_rig_ok(&rig, rig.train->narrow(rig.train, first, split ? 2 : 4), "narrow");
      train_rig_ok(&rig, rig.train->forward(rig.train), "forward");
      train_rig_ok(&rig, rig.train->backward(rig.train), "backward");
    }
    train_rig_ok(&rig, train_kit_read_grad(rig.kit, 7, split ? parts : whole, &present), "grad");
    cr_assert(present);
  }
  for (int64_t i = 0; i < parameter.count; i++) cr_assert_float_eq(parts[i], 2 * whole[i], 1e-4F);
  free(whole);
  free(parts);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

PD_TEST(small_batch, samples_that_are_not_there_are_refused) {
  static const int64_t wrong[][2] = {{-1, 2}, {0, 0}, {0, 5}, {3, 2}, {INT64_MAX, 1}};
  train_rig rig;
  train_rig_open(&rig);
  const train_config config = train_rig_config();
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  cr_assert_eq(rig.train->narrow(rig.train, 0, 1), PD_INVALID);
  pd_batch batch = train_rig_batch(4, 16, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  pd_tensor images;
  train_rig_ok(&rig, rig.train->to_device(rig.train, &at, &images), "to_device");
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    cr_assert_eq(rig.train->narrow(rig.train, wrong[i][0], wrong[i][1]), PD_INVALID, "case %zu", i);
  cr_assert(strstr(rig.host.message, "of a batch of 4"), "%s", rig.host.message);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}
