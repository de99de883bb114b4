/* dataloader: a plain step; the bottleneck is in the presets. */
#include "pd_test.h"
#include "plain_step.h"

PD_TEST(dataloader, starves_the_device_by_its_presets) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=4000", "data.io_sleep_ms=2", NULL};
  scenario_rig_open(&rig, "dataloader", NULL);
  scenario_rig_expect(&rig, "dataloader", "input_bound", presets);
  scenario_rig_close(&rig);
}

PD_TEST(dataloader, adds_nothing_to_the_step) {
  scenario_rig rig;
  scenario_rig_open(&rig, "dataloader", NULL);
  pd_trace *trace = scenario_rig_trace(&rig, false, 0);
  expect_plain_step(trace, 2, PD_MEMORY_PAGEABLE);
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(dataloader, copies_from_page_locked_memory_where_it_can) {
  scenario_rig rig;
  scenario_rig_open(&rig, "dataloader", NULL);
  pd_trace *trace = scenario_rig_trace(&rig, true, 0);
  expect_plain_step(trace, 2, PD_MEMORY_PINNED);
  trace_free(trace);
  scenario_rig_close(&rig);
}
