/* serial_streams: work of other streams, which the training step waits for or not. */
#include "pd_test.h"
#include "scenario_rig.h"

#include <pdhost/truth.h>

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

/* What happens on the side streams, in order: an event is recorded (e), a kernel launched (k), the truth's span begins
 * and ends (b, n). */
static char order[128];
static const pd_device_ops *real;
static pd_stream *loop_stream;

static void note(char what) {
  const size_t used = strlen(order);
  cr_assert_lt(used + 1, sizeof order);
  order[used] = what;
}

static pd_status noted_record(pd_device *device, pd_stream *stream, pd_event *event) {
  if (stream != loop_stream) note('e');
  return real->stream->event_record(device, stream, event);
}

static pd_status noted_spin(pd_device *device, pd_stream *stream, int64_t ns) {
  note('k');
  return real->tensor->spin(device, stream, ns);
}

static void noted_asked(const pd_truth *truth, double us, uint64_t count) { (void)truth, (void)us, (void)count; }

static pd_status noted_begin(const pd_truth *truth, pd_stream *stream) {
  (void)truth, (void)stream;
  note('b');
  return PD_OK;
}

static pd_status noted_end(const pd_truth *truth, pd_stream *stream, uint64_t count) {
  (void)truth, (void)stream, (void)count;
  note('n');
  return PD_OK;
}

/* A host's call between the truth's event and the scenario's own would be taken for device time on an idle device: the
 * scenario has one on either side. */
PD_TEST(serial_streams, it_times_itself_from_either_side_of_the_truths_begin) {
  static const pd_truth truth = {
      .size = sizeof truth, .asked = noted_asked, .device_begin = noted_begin, .device_end = noted_end};
  const char *const overrides[] = {"streams=2", "kernels=2", "inject_us=400", NULL};
  scenario_rig rig;
  scenario_rig_open(&rig, "serial_streams", overrides);
  real = rig.train.access.ops;
  loop_stream = rig.train.access.stream;
  pd_stream_ops stream = *real->stream;
  pd_tensor_ops tensor = *real->tensor;
  pd_device_ops noted = *real;
  stream.event_record = noted_record;
  tensor.spin = noted_spin;
  noted.stream = &stream;
  noted.tensor = &tensor;
  rig.train.access.ops = &noted;
  test_host_add(&rig.train.host, PD_EXT_TRUTH, &truth);
  rig.ops->teardown(rig.state);
  train_rig_ok(&rig.train, rig.ops->init(&rig.train.host.host, rig.options, &rig.state), "init");
  trace_free(scenario_rig_trace(&rig, false, 1));
  static const char of_stream[] = "ebekken"; /* in each of the rig's steps, warm-up too */
  const size_t each = sizeof of_stream - 1;
  cr_assert_eq(strlen(order), each * 2 * (2 + SCENARIO_STEPS), "%s", order);
  for (const char *at = order; *at; at += each) cr_assert_eq(strncmp(at, of_stream, each), 0, "%s", at);
  rig.ops->teardown(rig.state);
  rig.train.access.ops = real;
  train_rig_ok(&rig.train, rig.ops->init(&rig.train.host.host, rig.options, &rig.state), "init");
  scenario_rig_close(&rig);
}
