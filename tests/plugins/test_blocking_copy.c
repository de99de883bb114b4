/* blocking_copy: copies and sets that are waited for. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(blocking_copy, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.resident=device", "data.image_size=96", "run.sync_timing=false", NULL};
  scenario_rig_open(&rig, "blocking_copy", NULL);
  scenario_rig_expect(&rig, "blocking_copy", "forced_sync", presets);
  scenario_rig_close(&rig);
}

/* In SCENARIO_STEPS steps. */
static void expect_calls(const char *kind, bool control, uint64_t copies, uint64_t sets) {
  scenario_rig rig;
  const char *const overrides[] = {"calls=7", kind, NULL};
  scenario_rig_open(&rig, "blocking_copy", overrides);
  rig.control = control;
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE), copies * SCENARIO_STEPS);
  /* a set is waited for by a call of its own; one more is the rig's */
  cr_assert_eq(trace_calls(trace, PD_API_SYNC), (sets + 1) * SCENARIO_STEPS);
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(blocking_copy, copies_and_sets_take_turns) { expect_calls("kind=both", false, 4, 3); }
PD_TEST(blocking_copy, copies_alone) { expect_calls("kind=copy", false, 7, 0); }
PD_TEST(blocking_copy, sets_alone) { expect_calls("kind=set", false, 0, 7); }
PD_TEST(blocking_copy, a_control_step_blocks_nowhere) { expect_calls("kind=both", true, 0, 0); }
