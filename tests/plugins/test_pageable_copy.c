/* pageable_copy: copies from pageable memory before each step. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(pageable_copy, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "pageable_copy", NULL);
  scenario_rig_expect(&rig, "pageable_copy", "pageable_copy", presets);
  scenario_rig_close(&rig);
}

/* Copies from pageable memory, and their bytes, in all steps. */
static uint64_t copies(const char *const *overrides, bool control, uint64_t *bytes) {
  scenario_rig rig;
  scenario_rig_open(&rig, "pageable_copy", overrides);
  rig.control = control;
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  const uint64_t count = trace_copies(trace, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE);
  *bytes = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.kind == PD_ACTIVITY_MEMCPY) *bytes += row->detail.bytes;
  }
  trace_free(trace);
  scenario_rig_close(&rig);
  return count;
}

PD_TEST(pageable_copy, copies_as_many_and_as_large_as_asked) {
  const char *const overrides[] = {"copies=3", "bytes=10000", NULL};
  uint64_t bytes;
  cr_assert_eq(copies(overrides, false, &bytes), (uint64_t)3 * SCENARIO_STEPS);
  cr_assert_eq(bytes, (uint64_t)3 * 10000 * SCENARIO_STEPS);
}

PD_TEST(pageable_copy, copies_for_a_time) {
  const char *const overrides[] = {"inject_us=500", "copies=0", "bytes=65536", NULL};
  uint64_t bytes;
  /* At least one in all: what a copy took too long on a busy machine is taken from the steps after it. */
  cr_assert_gt(copies(overrides, false, &bytes), 0);
}

PD_TEST(pageable_copy, a_control_step_copies_nothing) {
  uint64_t bytes;
  cr_assert_eq(copies(NULL, true, &bytes), 0);
}
