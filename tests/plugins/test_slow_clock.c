/* slow_clock: a device whose work takes longer. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(slow_clock, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "slow_clock", NULL);
  scenario_rig_expect(&rig, "slow_clock", "none", presets);
  scenario_rig_close(&rig);
}

PD_TEST(slow_clock, each_step_is_slow_in_three_places) {
  int64_t shortest_ns;
  const char *const overrides[] = {"inject_us=600", NULL};
  cr_assert_eq(scenario_rig_spins("slow_clock", overrides, false, &shortest_ns), 3 * SCENARIO_STEPS);
  cr_assert_geq(shortest_ns, 200000);
  cr_assert_eq(scenario_rig_spins("slow_clock", overrides, true, &shortest_ns), 0);
}

PD_TEST(slow_clock, from_some_step_on) {
  int64_t shortest_ns;
  const char *const overrides[] = {"from_step=2", NULL};
  cr_assert_eq(scenario_rig_spins("slow_clock", overrides, false, &shortest_ns), 3 * (SCENARIO_STEPS - 2));
}
