/* The step log's summary: which steps each figure is made of. */
#include "pd_test.h"

#include "run/step_log.h"
#include <pdhost/trace.h>

#include <math.h>

static void add(step_log *log, uint64_t index, pd_phase phase, int64_t wait_ms, int64_t step_ms) {
  const pd_step_stats stats = {.size = sizeof stats,
                               .phase = phase,
                               .index = index,
                               .window = phase == PD_PHASE_ACTIVE ? 0 : PD_NONE,
                               .data_wait_ns = wait_ms * 1000000,
                               .step_time_ns = step_ms * 1000000,
                               .batch_cost_ns = (wait_ms + step_ms) * 1000000,
                               .loss = (double)index};
  cr_assert_eq(step_log_add(log, &stats), PD_OK);
}

PD_TEST(step_log, means_are_over_all_steps_and_spreads_over_active_ones) {
  step_log *log = step_log_open(NULL);
  pd_summary summary = {.size = sizeof summary};
  add(log, 0, PD_PHASE_WAIT, 500, 40);
  add(log, 1, PD_PHASE_WARMUP, 10, 20);
  add(log, 2, PD_PHASE_ACTIVE, 30, 10);
  add(log, 3, PD_PHASE_ACTIVE, 10, 10);
  add(log, 4, PD_PHASE_ACTIVE, 20, 40);
  cr_assert_eq(step_log_summarise(log, 6, &summary), PD_OK);
  cr_assert_eq(summary.steps, 5);
  cr_assert_float_eq(summary.avg_step_time_s, 0.024, 1e-12);
  cr_assert_float_eq(summary.avg_dataloader_wait_s, 0.114, 1e-12);
  cr_assert_eq(summary.step_time_s.count, 3);
  cr_assert_float_eq(summary.step_time_s.mean, 0.020, 1e-12);
  cr_assert_float_eq(summary.step_time_s.median, 0.010, 1e-12);
  cr_assert_float_eq(summary.data_wait_s.max, 0.030, 1e-12);
  cr_assert_float_eq(summary.first_batch_s, 0.5, 1e-12);
  cr_assert_float_eq(summary.steps_per_s, 3 / 0.120, 1e-9);
  cr_assert_float_eq(summary.samples_per_s, 6 * 3 / 0.120, 1e-9);
  cr_assert_eq(summary.losses.count, 5);
  cr_assert_float_eq(*PD_AT(double, &summary.losses, 3), 3.0, 0);
  cr_assert_eq(PD_AT(pd_step_stats, &summary.steps_all, 4)->index, 4);
  step_log_close(log);
}

PD_TEST(step_log, of_no_step_has_zeros_and_no_nan) {
  step_log *log = step_log_open(NULL);
  pd_summary summary = {.size = sizeof summary};
  cr_assert_eq(step_log_summarise(log, 6, &summary), PD_OK);
  cr_assert_eq(summary.steps, 0);
  cr_assert(isfinite(summary.avg_step_time_s) && isfinite(summary.steps_per_s) && isfinite(summary.step_time_s.median));
  cr_assert_eq(summary.losses.count, 0);
  step_log_close(log);
}

PD_TEST(step_log, keeps_rows_when_it_grows) {
  step_log *log = step_log_open(NULL);
  for (uint64_t i = 0; i < 1000; i++) add(log, i, PD_PHASE_ACTIVE, 1, 1);
  for (uint64_t i = 0; i < 1000; i++) cr_assert_eq(step_log_at(log, i)->index, i);
  step_log_close(log);
}
