/* tiny_ops: hundreds of tiny launches in a step. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(tiny_ops, presets_unfused_operations) {
  scenario_rig rig;
  const char *const presets[] = {"data.resident=device", "train.fused=false", NULL};
  scenario_rig_open(&rig, "tiny_ops", NULL);
  scenario_rig_expect(&rig, "tiny_ops", "launch_bound", presets);
  scenario_rig_close(&rig);
}

PD_TEST(tiny_ops, runs_the_block_of_the_workload) {
  scenario_rig rig;
  scenario_rig_open(&rig, "tiny_ops", NULL);
  cr_assert_eq(train_kit_parameter_count(rig.train.kit), 12);
  pd_trace *trace = scenario_rig_trace(&rig, false, 0);
  static const struct {
    const char *name;
    uint64_t per_step;
  } want[] = {{"aten::tanh", 30},
              {"aten::add", 30},
              {"aten::sigmoid", 30},
              {"aten::layer_norm", 30},
              {"aten::linear", 31},
              {"aten::slice", 2},
              {"aten::cat", 1},
              {"aten::tanh_backward", 30},
              {"aten::sigmoid_backward", 30},
              {"aten::native_layer_norm_backward", 30}};
  for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
    cr_assert_eq(trace_ranges(trace, want[i].name), want[i].per_step * SCENARIO_STEPS, "%s: %lu", want[i].name,
                 trace_ranges(trace, want[i].name));
  /* forward: scale and product; backward: two products and a scale */
  cr_assert_eq(trace_ranges(trace, "aten::mul"), (uint64_t)30 * 5 * SCENARIO_STEPS);
  cr_assert_geq(trace_calls(trace, PD_API_LAUNCH), (uint64_t)570 * SCENARIO_STEPS);
  cr_assert_eq(trace_allocations(trace, 1), 0);
  cr_assert_eq(trace_ranges(trace, "aten::item"), 0);
  trace_free(trace);
  scenario_rig_close(&rig);
}
