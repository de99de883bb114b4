/* sync: blocking reads of the loss after the forward pass, the backward pass and the update. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(sync, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.resident=device", "data.image_size=96", "run.sync_timing=false", NULL};
  scenario_rig_open(&rig, "sync", NULL);
  scenario_rig_expect(&rig, "sync", "forced_sync", presets);
  scenario_rig_close(&rig);
}

static void expect_reads(const char *override, uint64_t reads) {
  scenario_rig rig;
  const char *const overrides[] = {override, NULL};
  scenario_rig_open(&rig, "sync", override ? overrides : NULL);
  pd_trace *trace = scenario_rig_trace(&rig, false, 0);
  cr_assert_eq(trace_ranges(trace, "aten::item"), reads * SCENARIO_STEPS);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE), reads * SCENARIO_STEPS);
  cr_assert_eq(trace_calls(trace, PD_API_SYNC), (reads + 1) * SCENARIO_STEPS); /* one more is the rig's */
  cr_assert_eq(trace_allocations(trace, 1), 0);
  for (uint64_t i = 0; i < SCENARIO_STEPS && reads; i++) {
    const pd_range *forward = trace_range(trace, "forward", i), *backward = trace_range(trace, "backward", i);
    for (uint64_t k = 0; k < reads; k++) {
      const pd_range *read = trace_range(trace, "aten::item", i * reads + k);
      cr_assert_geq(read->start_ns, forward->end_ns);
      cr_assert_eq(read->end_ns <= backward->start_ns, k < (reads + 2) / 3, "read %llu", (unsigned long long)k);
      if (k >= (reads + 2) / 3) cr_assert_geq(read->start_ns, backward->end_ns);
      /* when the read returns, nothing launched before it is still running */
      for (uint64_t r = 0; r < trace->activities.count; r++) {
        const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, r);
        const pd_call *call = PD_AT(pd_call, &trace->calls, row->call);
        if (call->start_ns < read->end_ns) cr_assert_leq(row->end_ns, read->end_ns);
      }
    }
  }
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(sync, reads_the_loss_in_three_places) { expect_reads(NULL, 24); }
PD_TEST(sync, reads_it_once_behind_the_forward_pass) { expect_reads("reads_per_step=1", 1); }
PD_TEST(sync, reads_as_often_as_asked) { expect_reads("reads_per_step=4", 4); }
PD_TEST(sync, without_reads_nothing_waits) { expect_reads("reads_per_step=0", 0); }
