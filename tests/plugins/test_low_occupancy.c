/* low_occupancy: kernels of one thread. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(low_occupancy, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "low_occupancy", NULL);
  scenario_rig_expect(&rig, "low_occupancy", "none", presets);
  scenario_rig_close(&rig);
}

/* Kernels that only take time, and their shortest. */
static uint64_t spins(const char *const *overrides, bool control, int64_t *shortest_ns) {
  uint64_t count = 0;
  scenario_rig rig;
  scenario_rig_open(&rig, "low_occupancy", overrides);
  rig.control = control;
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  *shortest_ns = INT64_MAX;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.kind != PD_ACTIVITY_KERNEL || !strstr(pd_trace_string(trace, row->name)->text, "spin")) continue;
    if (row->end_ns - row->start_ns < *shortest_ns) *shortest_ns = row->end_ns - row->start_ns;
    count++;
  }
  trace_free(trace);
  scenario_rig_close(&rig);
  return count;
}

PD_TEST(low_occupancy, kernels_share_the_time) {
  int64_t shortest_ns;
  const char *const overrides[] = {"inject_us=600", "kernels=3", NULL};
  cr_assert_eq(spins(overrides, false, &shortest_ns), 3 * SCENARIO_STEPS);
  cr_assert_geq(shortest_ns, 200000);
  cr_assert_eq(spins(overrides, true, &shortest_ns), 0);
}
