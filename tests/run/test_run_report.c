/* What a run says of itself at its end. */
#include "pd_test.h"

#include "run/run_report.h"

static pd_status no_memory_used(pd_device *device, uint64_t *allocated, uint64_t *reserved, uint64_t *peak_allocated) {
  (void)device;
  *allocated = *reserved = *peak_allocated = 0;
  return PD_OK;
}

/* The summary of `steps` steps of batches of `batch_size`, in which the counters told these joules. */
static pd_summary summary_of(int steps, int64_t batch_size, double energy_j, double processor_energy_j) {
  static const pd_memory_ops memory = {.size = sizeof memory, .usage = no_memory_used};
  static const pd_device_ops device = {.size = sizeof device, .memory = &memory};
  static run_state run;
  static config settings;
  pd_summary summary;
  run = (run_state){.device_ops = &device,
                    .log = step_log_open(NULL),
                    .energy_j = energy_j,
                    .processor_energy_j = processor_energy_j};
  settings.data.batch_size = batch_size;
  for (int i = 0; i < steps; i++) {
    const pd_step_stats step = {.size = sizeof step, .index = (uint64_t)i, .step_time_ns = 1000000};
    cr_assert_eq(step_log_add(run.log, &step), PD_OK);
  }
  cr_assert_eq(run_report_summary(&run, &settings, &summary), PD_OK);
  step_log_close(run.log);
  return summary;
}

PD_TEST(run_report, energy_is_divided_among_steps_and_samples) {
  const pd_summary summary = summary_of(4, 8, 200, 64);
  cr_assert_float_eq(summary.energy_j, 200, 1e-12);
  cr_assert_float_eq(summary.energy_j_per_step, 50, 1e-12);
  cr_assert_float_eq(summary.energy_j_per_sample, 6.25, 1e-12);
  cr_assert_float_eq(summary.processor_energy_j, 64, 1e-12);
  cr_assert_float_eq(summary.processor_energy_j_per_step, 16, 1e-12);
  cr_assert_float_eq(summary.processor_energy_j_per_sample, 2, 1e-12);
}

PD_TEST(run_report, energy_that_was_not_counted_is_none_of_any_step) {
  pd_summary summary = summary_of(4, 8, 0, 64);
  cr_assert(summary.energy_j <= 0 && summary.energy_j_per_step <= 0 && summary.energy_j_per_sample <= 0);
  cr_assert_float_eq(summary.processor_energy_j_per_step, 16, 1e-12);
  summary = summary_of(4, 8, 200, 0);
  cr_assert_float_eq(summary.energy_j_per_step, 50, 1e-12);
  cr_assert(summary.processor_energy_j <= 0 && summary.processor_energy_j_per_sample <= 0);
  summary = summary_of(0, 8, 200, 64); /* no step was done: nothing is divided by zero */
  cr_assert(summary.energy_j <= 0 && summary.energy_j_per_step <= 0 && summary.processor_energy_j_per_step <= 0);
}
