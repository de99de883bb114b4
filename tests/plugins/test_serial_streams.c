/* serial_streams: work of other streams, which the training step waits for or not. */
#include "pd_test.h"
#include "scenario_rig.h"

PD_TEST(serial_streams, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "serial_streams", NULL);
  scenario_rig_expect(&rig, "serial_streams", "serial_streams", presets);
  scenario_rig_close(&rig);
}

static bool is_spin(const pd_trace *trace, const pd_device_row *row) {
  return !strcmp(pd_trace_string(trace, row->name)->text, "spin");
}

/* Kernels of the model that overlap, or precede, work of the other streams in their own step. */
static uint64_t not_waiting(const pd_trace *trace) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *spin = PD_AT(pd_device_row, &trace->activities, i);
    if (!is_spin(trace, spin)) continue;
    for (uint64_t k = 0; k < trace->activities.count; k++) {
      const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, k);
      count += row->step == spin->step && !is_spin(trace, row) && row->start_ns < spin->end_ns;
    }
  }
  return count;
}

/* The trace of steps with `streams` side streams of two kernels each; counts what must be there in any case. */
static pd_trace *trace_of(scenario_rig *rig, const char *serial, const char *streams, uint64_t count, bool control) {
  const char *const overrides[] = {serial, streams, "kernels=2", "inject_us=2000", NULL};
  scenario_rig_open(rig, "serial_streams", overrides);
  rig->control = control;
  pd_trace *trace = scenario_rig_trace(rig, false, 1);
  /* One after the other they are timed, and what lies between them is taken off them. */
  const bool corrected = !strcmp(serial, "serial=true") && !control;
  uint64_t spins = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (!is_spin(trace, row)) continue;
    spins++;
    if (!corrected) cr_assert_geq(row->end_ns - row->start_ns, 2000000 / (int64_t)(2 * count));
  }
  cr_assert_eq(spins, 2 * count * SCENARIO_STEPS);
  cr_assert_eq(trace_calls(trace, PD_API_STREAM_WAIT), 2 * count * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "side streams"), SCENARIO_STEPS);
  cr_assert_eq(trace_calls(trace, PD_API_SYNC), SCENARIO_STEPS); /* the rig's */
  return trace;
}

static void expect_waiting(const char *streams, uint64_t count) {
  scenario_rig rig;
  pd_trace *trace = trace_of(&rig, "serial=true", streams, count, false);
  cr_assert_eq(not_waiting(trace), 0);
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(serial_streams, the_training_step_waits_for_another_stream) { expect_waiting("streams=1", 1); }
PD_TEST(serial_streams, it_waits_for_the_last_of_several) { expect_waiting("streams=3", 3); }

/* Nothing of the training step's launches lies behind a wait for the others: those all come after it. */
static void expect_free(const char *serial, bool control) {
  scenario_rig rig;
  pd_trace *trace = trace_of(&rig, serial, "streams=1", 1, control);
  for (uint64_t step = 0; step < SCENARIO_STEPS; step++) {
    const pd_range *side = trace_range(trace, "side streams", step), *forward = trace_range(trace, "forward", step);
    const pd_range *update = trace_range(trace, "Optimizer.step#AdamW.step", step);
    uint64_t before = 0, within = 0, after = 0;
    for (uint64_t i = 0; i < trace->calls.count; i++) {
      const pd_call *call = PD_AT(pd_call, &trace->calls, i);
      if (call->api != PD_API_STREAM_WAIT || call->step != step) continue;
      before += call->start_ns < side->end_ns;
      within += call->start_ns >= side->end_ns && call->start_ns < forward->start_ns;
      after += call->start_ns > update->end_ns;
    }
    cr_assert(before == 1 && within == 0 && after == 1);
  }
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(serial_streams, without_the_events_they_run_side_by_side) { expect_free("serial=false", false); }
PD_TEST(serial_streams, in_a_control_step_too) { expect_free("serial=true", true); }
