/* host_compute: the host computes before the forward pass. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(host_compute, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "host_compute", NULL);
  scenario_rig_expect(&rig, "host_compute", "host_compute", presets);
  scenario_rig_close(&rig);
}

PD_TEST(host_compute, computes_as_long_as_asked_before_the_forward_pass) {
  scenario_rig rig;
  const char *const overrides[] = {"inject_us=700", NULL};
  scenario_rig_open(&rig, "host_compute", overrides);
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  cr_assert_eq(trace_ranges(trace, "host_compute"), SCENARIO_STEPS);
  for (uint64_t i = 0; i < SCENARIO_STEPS; i++) {
    const pd_range *compute = trace_range(trace, "host_compute", i), *forward = trace_range(trace, "forward", i);
    cr_assert_geq(compute->end_ns - compute->start_ns, 700000);
    cr_assert_leq(compute->end_ns, forward->start_ns);
  }
  cr_assert_eq(trace_calls(trace, PD_API_SYNC), SCENARIO_STEPS); /* the rig's */
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(host_compute, a_control_step_computes_nothing) {
  scenario_rig rig;
  scenario_rig_open(&rig, "host_compute", NULL);
  rig.control = true;
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  cr_assert_eq(trace_ranges(trace, "host_compute"), 0);
  cr_assert_eq(trace_ranges(trace, "forward"), SCENARIO_STEPS);
  trace_free(trace);
  scenario_rig_close(&rig);
}
