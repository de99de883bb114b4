/* short_streams: streams that live for one kernel. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(short_streams, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "short_streams", NULL);
  scenario_rig_expect(&rig, "short_streams", "launch_bound", presets);
  scenario_rig_close(&rig);
}

/* Streams beside the loop's that kernels of the steps ran on. */
static uint64_t streams_used(const char *override, bool control) {
  uint64_t kernels = 0;
  scenario_rig rig;
  const char *const overrides[] = {override, NULL};
  scenario_rig_open(&rig, "short_streams", overrides);
  rig.control = control;
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  cr_assert_eq(trace_ranges(trace, "short streams"), SCENARIO_STEPS);
  const uint64_t own = PD_AT(pd_device_row, &trace->activities, trace->activities.count - 1)->stream;
  for (uint64_t i = 0; i < trace->activities.count; i++)
    kernels += PD_AT(pd_device_row, &trace->activities, i)->stream != own;
  trace_free(trace);
  scenario_rig_close(&rig);
  return kernels;
}

PD_TEST(short_streams, each_has_one_kernel) { cr_assert_eq(streams_used("streams=5", false), 5 * SCENARIO_STEPS); }
PD_TEST(short_streams, none_where_none_is_asked_for) { cr_assert_eq(streams_used("streams=0", false), 0); }
PD_TEST(short_streams, a_control_step_makes_none) { cr_assert_eq(streams_used("streams=5", true), 0); }
