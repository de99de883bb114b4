/* control: nothing injected, no copy, the baseline. */
#include "pd_test.h"
#include "plain_step.h"

PD_TEST(control, presets_resident_data) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "control", NULL);
  scenario_rig_expect(&rig, "control", "none", presets);
  scenario_rig_close(&rig);
}

PD_TEST(control, copies_and_injects_nothing) {
  scenario_rig rig;
  scenario_rig_open(&rig, "control", NULL);
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  expect_plain_step(trace, 0, PD_MEMORY_PAGEABLE);
  trace_free(trace);
  scenario_rig_close(&rig);
}
