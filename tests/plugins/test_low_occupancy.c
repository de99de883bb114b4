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

PD_TEST(low_occupancy, kernels_share_the_time) {
  int64_t shortest_ns;
  const char *const overrides[] = {"inject_us=600", "kernels=3", NULL};
  cr_assert_eq(scenario_rig_spins("low_occupancy", overrides, false, &shortest_ns), 3 * SCENARIO_STEPS);
  cr_assert_geq(shortest_ns, 200000);
  cr_assert_eq(scenario_rig_spins("low_occupancy", overrides, true, &shortest_ns), 0);
}
