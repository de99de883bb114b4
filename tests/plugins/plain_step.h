/* What a step without anything injected leaves in the trace; `copies` host to device copies a step. */
#ifndef TESTS_PLUGINS_PLAIN_STEP_H
#define TESTS_PLUGINS_PLAIN_STEP_H

#include "scenario_rig.h"

#include <criterion/criterion.h>

static inline void expect_plain_step(const pd_trace *trace, uint64_t copies, pd_memory_kind from) {
  cr_assert_eq(trace_copies(trace, from, PD_MEMORY_DEVICE), copies * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "aten::item"), 0);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE), 0);
  cr_assert_eq(trace_calls(trace, PD_API_SYNC), SCENARIO_STEPS); /* the rig's, behind each step */
  cr_assert_eq(trace_allocations(trace, 1), 0);
  cr_assert_eq(trace_ranges(trace, "aten::conv2d"), 3 * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "Optimizer.step#AdamW.step"), SCENARIO_STEPS);
  cr_assert_leq(trace_calls(trace, PD_API_LAUNCH), 25 * SCENARIO_STEPS);
}

#endif
