/* The gains of made-up steps: what recording adds, and what goes with a cause. */
#include "ledger/gains.h"
#include "fake_trace.h"
#include "pd_test.h"

enum { STEPS = 6, STEP_NS = 200000 };

typedef struct gains_rig {
  fake_trace *fake;
  uint32_t thread, main, side;
  uint64_t correlation;
  int64_t record_cost_ns, unprofiled_step_ns;
  pd_twin twin;
  bool sync_timing;
} gains_rig;

static void begin(gains_rig *self) {
  *self = (gains_rig){.fake = fake_trace_open()};
  cr_assert_not_null(self->fake);
  self->thread = fake_thread(self->fake, 1, "loop");
  self->main = fake_stream(self->fake, 0, 1, 7);
  self->side = fake_stream(self->fake, 0, 1, 8);
}

/* A launch of 1 us at `at`; its kernel. */
static void launch(gains_rig *self, uint32_t stream, int64_t at, int64_t start, int64_t end) {
  fake_call(self->fake, PD_API_LAUNCH, "cudaLaunchKernel", self->thread, at, at + 1000, ++self->correlation);
  fake_kernel(self->fake, "k", stream, start, end, self->correlation);
}

static void event(gains_rig *self, int64_t at) {
  fake_call(self->fake, PD_API_OTHER, "cudaEventRecord", self->thread, at, at + 100, ++self->correlation);
  fake_call(self->fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", self->thread, at + 100, at + 200,
            ++self->correlation);
}

static void judge(gains_rig *self, pd_facts facts, gains *out) {
  pd_trace *trace = fake_trace_finish(self->fake);
  cr_assert_not_null(trace);
  trace->facts = PD_FACT_CALLS | PD_FACT_STEPS | facts;
  trace->device = NULL;
  trace->sync_timing = self->sync_timing;
  trace->record_cost_ns = self->record_cost_ns;
  trace->unprofiled_step_ns = self->unprofiled_step_ns;
  trace->twin = self->twin;
  trace_facts *of = facts_open(trace);
  cr_assert(of && gains_find(of, out) && out->is_judged);
  facts_close(of);
  gains_free(out);
  fake_trace_close(self->fake);
}

/* ---- what recording adds ---- */

/* Ten operations of 18 us a step, each with one in it that begins `nested_ns` later and launches. */
static double added_by_recording(int64_t nested_ns) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, at, at + STEP_NS);
    for (int64_t i = 0; i < 10; i++) {
      const int64_t from = at + i * 20000;
      fake_range(rig.fake, PD_RANGE_OP, "aten::linear", rig.thread, from, from + 18000);
      fake_range(rig.fake, PD_RANGE_OP, "aten::addmm", rig.thread, from + nested_ns, from + 15000);
      launch(&rig, rig.main, from + 5000, from + 10000, from + 12000);
    }
  }
  judge(&rig, PD_FACT_OPERATIONS, &out);
  return out.recorded_ns - out.step_ns;
}

PD_TEST(gains, recording_costs_what_lies_between_nested_operations) {
  const double wanted = (20 * GAINS_OPERATION_NESTED + 10 * GAINS_LAUNCH_NESTED) * 400; /* 20 operations, 10 launches */
  cr_assert_float_eq(added_by_recording(400), wanted, 0.02 * wanted);
  cr_assert_float_eq(added_by_recording(800), 2 * wanted, 0.02 * wanted);
}

PD_TEST(gains, never_more_than_half_of_the_launching_is_the_recorders) {
  cr_assert_float_eq(added_by_recording(4000), 0.5 * STEP_NS, 0.02 * STEP_NS);
}

/* Ten launches a step, one every 20 us, each with a kernel of 14 us behind it. Recording costs 4 us of each launch. */
static void launches_of_20_us(gains_rig *rig, gains *out) {
  begin(rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig->fake, s, at, at + STEP_NS);
    for (int64_t i = 0; i < 10; i++) {
      const int64_t from = at + i * 20000, end = from + 20000;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", rig->thread, end - 1000, end, ++rig->correlation);
      fake_kernel(rig->fake, "k", rig->main, end, end + 14000, rig->correlation);
    }
  }
  rig->record_cost_ns = 4000;
  judge(rig, PD_FACT_RECORDER_COST, out);
}

PD_TEST(gains, reach_to_what_half_and_one_and_a_half_of_the_recorders_cost_would_give) {
  gains_rig rig;
  gains out;
  launches_of_20_us(&rig, &out);
  const gains_cause *of = &out.causes[VERDICT_launch_bound];
  cr_assert_float_eq(out.step_ns, 160000, 3000);
  cr_assert_float_eq(of->gain, 20.0 / 160, 0.02); /* the device is busy for 140 us */
  cr_assert_float_eq(of->high, 40.0 / 180, 0.02); /* half: the step takes 180 us */
  cr_assert_lt(of->low, GAINS_LEAST_CUDA);        /* one and a half: the device keeps the step at 140 us */
  cr_assert_eq(out.cause, VERDICT_launch_bound);
  cr_assert_eq(out.close, VERDICT_none);
}

/* Ten launches a step that each take all of 20 us. */
static void launching_all_the_time(gains_rig *rig, gains *out, int64_t unprofiled_ns, const pd_twin *twin) {
  begin(rig);
  rig->unprofiled_step_ns = unprofiled_ns;
  if (twin) rig->twin = *twin;
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig->fake, s, at, at + STEP_NS);
    for (int64_t i = 0; i < 10; i++) {
      const int64_t end = at + (i + 1) * 20000;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", rig->thread, end - 20000, end, ++rig->correlation);
      fake_kernel(rig->fake, "k", rig->main, end, end + 2000, rig->correlation);
    }
  }
  judge(rig, 0, out);
}

PD_TEST(gains, a_run_knows_that_more_than_half_of_the_launching_may_be_the_recorders) {
  gains_rig rig;
  gains out;
  launching_all_the_time(&rig, &out, 80000, NULL);
  cr_assert_float_eq(out.step_ns, 80000, 2000);
  cr_assert_float_eq(out.keep, 0.4, 0.02);
  cr_assert_eq(out.twin_rounds, 0);
}

PD_TEST(gains, the_windows_own_twin_counts_before_the_steps_before_it) {
  gains_rig rig;
  gains out;
  const pd_twin twin = {.step_ns = 150000, .added_ns = 50000, .low_ns = 40000, .high_ns = 60000, .rounds = 8};
  launching_all_the_time(&rig, &out, 80000, &twin);
  cr_assert_float_eq(out.step_ns, 150000, 2000);
  cr_assert_float_eq(out.keep, 0.75, 0.02);
  cr_assert(out.cost_known);
  cr_assert_eq(out.twin_rounds, 8);
  cr_assert_float_eq(out.added_low_ns, 40000, 1e-6);
  cr_assert_float_eq(out.added_high_ns, 60000, 1e-6);
  cr_assert_float_eq(out.record_ns, 5000, 1e-6); /* ten calls a step */
  cr_assert_float_eq(out.record_low_ns, 4000, 1e-6);
  cr_assert_float_eq(out.record_high_ns, 6000, 1e-6);
}

PD_TEST(gains, a_twin_that_shows_no_cost_takes_nothing_off) {
  gains_rig rig;
  gains out;
  const pd_twin twin = {.step_ns = 190000, .added_ns = 10000, .low_ns = -20000, .high_ns = 40000, .rounds = 8};
  launching_all_the_time(&rig, &out, 80000, &twin);
  cr_assert_float_eq(out.step_ns, STEP_NS, 2500);
  cr_assert_float_eq(out.keep, 1, 1e-9);
  cr_assert(out.cost_known);
}

/* ---- reads ---- */

/* A step of one long kernel, then `reads` values, each made by `kernels` short ones and read. The step is 200 us. */
static double gain_of_reads(int64_t reads, int64_t kernels) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, start, start + STEP_NS);
    launch(&rig, rig.main, start, start + 5000, start + 40000);
    int64_t at = start + 41000;
    for (int64_t i = 0; i < reads; i++) {
      for (int64_t k = 0; k < kernels; k++, at += 4000) launch(&rig, rig.main, at, at + 2000, at + 4000);
      fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", rig.thread, at, at + 1000, ++rig.correlation);
      fake_copy(rig.fake, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE, 4, rig.main, at + 2000, at + 3000, rig.correlation);
      fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", rig.thread, at + 1000, at + 4000, ++rig.correlation);
      at += 4000;
    }
    launch(&rig, rig.main, at, at + 2000, start + STEP_NS - 1000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 1000, start + STEP_NS,
              ++rig.correlation);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  return out.causes[VERDICT_forced_sync].gain;
}

PD_TEST(gains, what_only_makes_values_to_be_read_goes_with_the_reads) {
  /* Eight reads of 3 us; and the 5 us before each but the first. */
  cr_assert_float_eq(gain_of_reads(8, 1), (8 * 3 + 7 * 5) / 200.0, 1e-9);
}

PD_TEST(gains, kernels_that_work_do_not_go_with_the_reads_between_them) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, start, start + STEP_NS);
    for (int64_t i = 0; i < 5; i++) { /* a kernel of 30 us, then a read of what it made */
      const int64_t at = start + i * 40000;
      launch(&rig, rig.main, at, at + 2000, at + 32000);
      fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", rig.thread, at + 2000, at + 35000, ++rig.correlation);
      fake_copy(rig.fake, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE, 4, rig.main, at + 33000, at + 34000, rig.correlation);
    }
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  cr_assert_lt(out.causes[VERDICT_forced_sync].gain, 0.25 + 0.01); /* 150 us of 200 are kernels */
}

PD_TEST(gains, what_lies_between_few_or_distant_reads_stays) {
  cr_assert_float_eq(gain_of_reads(3, 1), 3 * 3 / 200.0, 1e-9);
  cr_assert_float_eq(gain_of_reads(6, 3), 6 * 3 / 200.0, 1e-9);
}

/* ---- streams ---- */

/* Steps in which the work goes to the other stream and back `hops` times, by `kernels` kernels of `length_us` each
 * time; each time in an operation of its own, or all in one. */
static void hand_over(int64_t hops, int64_t kernels, int64_t length_us, bool in_one_operation, gains *out) {
  gains_rig rig;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, start, start + STEP_NS);
    launch(&rig, rig.main, start, start + 10000, start + 40000);
    int64_t at = start + 2000, runs = start + 41000;
    if (in_one_operation) fake_range(rig.fake, PD_RANGE_OP, "aten::lstm", rig.thread, start, start + 150000);
    for (int64_t i = 0; i < hops; i++) {
      if (!in_one_operation)
        fake_range(rig.fake, PD_RANGE_OP, "aten::mm", rig.thread, at + 400, at + 1900 + kernels * 1500);
      event(&rig, at);
      for (int64_t k = 0; k < kernels; k++, runs += length_us * 1000)
        launch(&rig, i % 2 ? rig.main : rig.side, at + 500 + k * 1500, runs, runs + length_us * 1000);
      at += 2000 + kernels * 1500;
      runs += 1000;
    }
    launch(&rig, rig.main, at, runs, start + STEP_NS - 1000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 1000, start + STEP_NS,
              ++rig.correlation);
  }
  judge(&rig, PD_FACT_OPERATIONS | PD_FACT_RECORDER_COST, out);
}

PD_TEST(gains, work_that_goes_to_and_fro_between_streams_is_a_chain) {
  gains out;
  hand_over(8, 1, 15, false, &out);
  cr_assert_geq(out.hops, 7);
  cr_assert_gt(out.causes[VERDICT_serial_streams].gain, 0.25); /* four kernels of 15 us of 200 */
}

PD_TEST(gains, streams_of_one_operation_are_its_librarys_own) {
  gains out;
  hand_over(8, 1, 15, true, &out);
  cr_assert_lt(out.hops, 2);
  cr_assert_lt(out.causes[VERDICT_serial_streams].gain, 0.01);
}

/* Half of a step runs on another stream, and the rest, which begins with a set, waits for it. */
PD_TEST(gains, a_set_that_waits_for_another_stream_is_held_up_as_a_kernel_is) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, start, start + STEP_NS);
    launch(&rig, rig.side, start, start + 5000, start + 100000);
    event(&rig, start + 1500);
    fake_call(rig.fake, PD_API_MEMSET, "cudaMemsetAsync", rig.thread, start + 2000, start + 3000, ++rig.correlation);
    fake_kernel(rig.fake, "Memset (Device)", rig.main, start + 101000, start + 103000, rig.correlation)->detail.kind =
        PD_ACTIVITY_MEMSET;
    launch(&rig, rig.main, start + 4000, start + 104000, start + STEP_NS - 1000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, start + 6000, start + STEP_NS,
              ++rig.correlation);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  cr_assert_float_eq(out.causes[VERDICT_serial_streams].gain, 0.47, 0.02);
  cr_assert_eq(out.cause, VERDICT_serial_streams);
}

PD_TEST(gains, a_long_section_on_another_stream_is_no_hop) {
  gains out;
  hand_over(4, 8, 3, false, &out);
  const double hops = out.hops;
  hand_over(4, 9, 3, false, &out);
  cr_assert_geq(hops, 3);
  cr_assert_lt(out.hops, 1);
}

/* Ten kernels a step that are launched in time, behind a long one: of `ns` each, `gap_ns` apart. */
static void queue_kernels(gains_rig *rig, int64_t ns, int64_t gap_ns) {
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS, first = start + STEP_NS - 10 * (ns + gap_ns);
    fake_step(rig->fake, s, start, start + STEP_NS);
    launch(rig, rig->main, start, start + 5000, first - gap_ns);
    for (int64_t i = 0, at = first; i < 10; i++, at += ns + gap_ns)
      launch(rig, rig->main, start + 2000 + i * 1000, at, at + ns);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", rig->thread, start + 13000, start + STEP_NS,
              ++rig->correlation);
  }
}

/* The same, where without the recorder a step takes `unprofiled_ns`; 0: that is not known. */
static void queued_kernels(int64_t ns, int64_t gap_ns, int64_t unprofiled_ns, gains *out) {
  gains_rig rig;
  begin(&rig);
  rig.unprofiled_step_ns = unprofiled_ns;
  queue_kernels(&rig, ns, gap_ns);
  judge(&rig, PD_FACT_RECORDER_COST, out);
}

PD_TEST(gains, kernels_too_short_for_any_work_go_with_their_launches_but_not_in_a_graph) {
  gains out;
  queued_kernels(3000, 1000, 0, &out); /* of 200 us ten times 3 us, and half of each gap of 1 us */
  const gains_cause *launching = &out.causes[VERDICT_launch_bound];
  cr_assert_float_eq(launching->gain - launching->captured, 30 / 200.0, 1e-9);
  cr_assert_leq(launching->captured, 0.06);
  cr_assert_gt(launching->captured, 0);
  queued_kernels(4000, 1000, 0, &out);
  cr_assert_float_eq(launching->gain, launching->captured, 1e-9);
}

PD_TEST(gains, what_no_graph_saves_has_to_be_twice_as_much_for_a_name) {
  gains out;
  queued_kernels(1200, 1000, 0, &out);
  const gains_cause *launching = &out.causes[VERDICT_launch_bound];
  cr_assert(launching->gain > GAINS_LEAST_CUDA && launching->captured < GAINS_LEAST_CUDA, "%g, %g", launching->gain,
            launching->captured);
  cr_assert_eq(out.cause, VERDICT_none);
  queued_kernels(3000, 1000, 0, &out);
  cr_assert_gt(launching->gain, GAINS_UNTRIED_TIMES * GAINS_LEAST_CUDA);
  cr_assert_eq(out.cause, VERDICT_launch_bound);
}

/* In short steps that wait for the device, the start of a graph alone is worth a name. */
PD_TEST(gains, short_steps_are_launch_bound_only_if_a_graph_helps) {
  for (int waits = 0; waits < 2; waits++) {
    gains_rig rig;
    gains out;
    begin(&rig);
    rig.sync_timing = waits;
    queue_kernels(&rig, 3000, 1000);
    judge(&rig, PD_FACT_RECORDER_COST, &out);
    cr_assert_lt(out.causes[VERDICT_launch_bound].captured, GAINS_LEAST_CUDA);
    cr_assert_gt(out.causes[VERDICT_launch_bound].gain, GAINS_UNTRIED_TIMES * GAINS_LEAST_CUDA);
    cr_assert_eq(out.cause, waits ? VERDICT_none : VERDICT_launch_bound);
  }
}

/* Steps that wait for the device begin with the launch of the graph, while it is idle, however large its kernels are.
 */
PD_TEST(gains, a_graph_takes_longer_to_start_than_a_kernel) {
  double gain[2], captured[2];
  for (int waits = 0; waits < 2; waits++) {
    gains_rig rig;
    gains out;
    begin(&rig);
    rig.sync_timing = waits;
    for (uint64_t s = 0; s < STEPS; s++) {
      const int64_t at = (int64_t)s * STEP_NS;
      fake_step(rig.fake, s, at, at + STEP_NS);
      for (int64_t i = 0; i < 10; i++)
        launch(&rig, rig.main, at + i * 19000, at + i * 19000 + 5000, at + i * 19000 + 9000);
      fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 172000, at + STEP_NS,
                ++rig.correlation);
    }
    judge(&rig, PD_FACT_RECORDER_COST, &out);
    gain[waits] = out.causes[VERDICT_launch_bound].gain * out.step_ns;
    captured[waits] = out.causes[VERDICT_launch_bound].captured * out.step_ns;
  }
  cr_assert_float_eq(gain[0] - gain[1], GAINS_GRAPH_LAUNCH_NS, 1);
  cr_assert_float_eq(captured[0] - captured[1], GAINS_GRAPH_LAUNCH_NS, 1);
}

PD_TEST(gains, kernels_of_a_graph_follow_one_another_at_once_however_far_apart_they_were) {
  gains out;
  queued_kernels(4000, 3000, 0, &out);
  cr_assert_geq(out.causes[VERDICT_launch_bound].captured, 10 * 2300 / 200e3);
  queued_kernels(4000, 6000, 0, &out);
  cr_assert_geq(out.causes[VERDICT_launch_bound].captured, 10 * 5300 / 200e3);
}

/* The step is as long as the device needs, so that shorter launching alone saves nothing of what recording adds. */
PD_TEST(gains, part_of_the_gaps_of_a_full_queue_is_the_recorders) {
  gains out;
  queued_kernels(4000, 3000, 0, &out);
  const double with = out.causes[VERDICT_launch_bound].gain;
  cr_assert_float_eq(out.step_ns, 200e3, 1e-9);
  queued_kernels(4000, 3000, 190000, &out);
  cr_assert_float_eq(out.step_ns, 190e3, 500);
  cr_assert_float_eq(out.causes[VERDICT_launch_bound].gain, 1 - 200 * (1 - with) / 190, 0.005);
}

/* Two streams that nothing ties: each kernel is launched when the one before is done, and takes 15 of 20 us. */
PD_TEST(gains, a_step_takes_no_less_than_the_device_is_busy) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, start, start + STEP_NS);
    for (int64_t i = 0; i < 10; i++)
      launch(&rig, i % 2 ? rig.main : rig.side, start + i * 20000, start + i * 20000 + 5000, start + i * 20000 + 20000);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  cr_assert_leq(out.causes[VERDICT_launch_bound].gain, 0.25 + 1e-9);
  cr_assert_gt(out.causes[VERDICT_launch_bound].gain, 0.2);
  cr_assert_leq(out.causes[VERDICT_launch_bound].low, out.causes[VERDICT_launch_bound].gain + 1e-9);
  cr_assert_geq(out.causes[VERDICT_launch_bound].high, out.causes[VERDICT_launch_bound].gain - 1e-9);
}

/* Steps in which the device is busy for 40 to 90 us of 200, in kernels of two streams. */
PD_TEST(gains, a_gain_lies_in_its_interval_where_the_device_sets_the_limit) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS, length = 4000 + (int64_t)s * 1000;
    fake_step(rig.fake, s, start, start + STEP_NS);
    for (int64_t i = 0; i < 10; i++) {
      const int64_t at = start + i * 20000;
      launch(&rig, i % 2 ? rig.main : rig.side, at, at + 5000, at + 5000 + length);
    }
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  const gains_cause *launching = &out.causes[VERDICT_launch_bound];
  cr_assert(launching->low < launching->gain && launching->gain < launching->high, "%g (%g..%g)", launching->gain,
            launching->low, launching->high);
}

/* ---- silence of the host ---- */

/* Steps of 2 ms: launches of 10 us with their operations, and a silence of `quiet_ns`: in a range called `around` where
 * there is one, else between two operations, the second of which runs on another thread with `hands_over`. */
static void judge_silence(int64_t quiet_ns, const char *around, bool hands_over, int64_t record_cost_ns, gains *out) {
  enum { LONG_STEP_NS = 2000000, BEFORE = 20, AFTER = 20, EACH_NS = 20000 };
  gains_rig rig;
  begin(&rig);
  rig.record_cost_ns = record_cost_ns;
  const uint32_t other = fake_thread(rig.fake, 2, "backward");
  for (uint64_t s = 0; s < STEPS; s++) {
    int64_t at = (int64_t)s * LONG_STEP_NS;
    fake_step(rig.fake, s, at, at + LONG_STEP_NS);
    for (int64_t i = 0; i < BEFORE + AFTER; i++, at += EACH_NS) {
      if (i == BEFORE) {
        if (around) {
          pd_range *range = fake_range(rig.fake, PD_RANGE_USER, around, rig.thread, at, at + quiet_ns + EACH_NS);
          range->part = PD_PART_OPTIMIZATION;
        }
        at += quiet_ns;
      }
      const uint32_t thread = i < BEFORE || !hands_over ? rig.thread : other;
      fake_range(rig.fake, PD_RANGE_OP, "aten::mm", thread, at, at + EACH_NS);
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, at + 1000, at + 11000, ++rig.correlation);
      fake_kernel(rig.fake, "k", rig.main, at + 12000, at + 16000, rig.correlation);
    }
    fake_range(rig.fake, PD_RANGE_OP, "aten::mm", rig.thread, at, (int64_t)(s + 1) * LONG_STEP_NS);
  }
  judge(&rig, PD_FACT_OPERATIONS | PD_FACT_RECORDER_COST, out);
}

static double gain_of_silence(int64_t quiet_ns, const char *around, bool hands_over) {
  gains out;
  judge_silence(quiet_ns, around, hands_over, 0, &out);
  return out.causes[VERDICT_host_compute].gain;
}

PD_TEST(gains, of_two_that_are_near_none_is_sure_where_the_recorders_cost_is_an_estimate) {
  gains out;
  judge_silence(950000, NULL, false, 500, &out);
  cr_assert_eq(out.cause, VERDICT_host_compute);
  cr_assert_eq(out.near, VERDICT_launch_bound);
  cr_assert(!gains_are_sure(&out));
  judge_silence(1150000, NULL, false, 500, &out);
  cr_assert(out.near == VERDICT_COUNT && gains_are_sure(&out));
  judge_silence(950000, NULL, false, 0, &out); /* recording costs nothing */
  cr_assert(out.near == VERDICT_COUNT && gains_are_sure(&out));
}

PD_TEST(gains, a_silence_between_operations_is_computing) {
  cr_assert_float_eq(gain_of_silence(240000, NULL, false), 0, 1e-9);
  cr_assert_float_eq(gain_of_silence(400000, NULL, false), 0.2, 0.001);
}

PD_TEST(gains, an_optimizer_that_walks_over_its_parameters_is_launching) {
  cr_assert_float_eq(gain_of_silence(400000, "Optimizer.step#AdamW.step", false), 0, 1e-9);
  cr_assert_float_eq(gain_of_silence(1100000, "Optimizer.step#AdamW.step", false), 0.555, 0.001);
}

PD_TEST(gains, a_thread_that_takes_its_time_to_wake_computes_nothing) {
  cr_assert_float_eq(gain_of_silence(400000, NULL, true), 0, 1e-9);
  cr_assert_float_eq(gain_of_silence(600000, NULL, true), 0.3, 0.001);
}

/* ---- what ran before ---- */

PD_TEST(gains, the_first_step_is_left_out_where_work_of_before_held_it_up) {
  gains_rig rig;
  gains out;
  begin(&rig);
  fake_kernel(rig.fake, "k", rig.main, 1000, 150000, 0); /* launched before the recording */
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, at, at + STEP_NS);
    launch(&rig, rig.side, at, at + 5000, at + 9000); /* waits for nothing */
    launch(&rig, rig.main, at + 10000, at + 151000, at + 150000 + STEP_NS);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  cr_assert_eq(out.steps, STEPS - 1);
  cr_assert_float_eq(out.recorded_ns, STEP_NS, 1);
}

/* ---- passes ---- */

/* A second thread launches bursts of the same kernels: in turns with the loop's thread, or while that launches. */
static uint64_t passes_of(bool at_once) {
  gains_rig rig;
  gains out;
  begin(&rig);
  const uint32_t other = fake_thread(rig.fake, 2, "second");
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, start, start + STEP_NS);
    for (int64_t i = 0; i < 18; i++) {
      const int64_t at = start + i * 10000;
      const bool is_second = !at_once && i % 6 >= 3; /* three bursts of three */
      const int64_t length = is_second ? 1000 : 4000;
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", is_second ? other : rig.thread, at, at + length,
                ++rig.correlation);
      fake_kernel(rig.fake, is_second ? "backward" : "forward", rig.main, at + 5000, at + 9000, rig.correlation);
      if (!at_once) continue;
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", other, at + 1000, at + 5000, ++rig.correlation);
      fake_kernel(rig.fake, "backward", rig.side, at + 6000, at + 9500, rig.correlation);
    }
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  return out.passes;
}

PD_TEST(gains, a_thread_that_launches_beside_the_loops_own_makes_no_passes) {
  cr_assert_eq(passes_of(false), 3);
  cr_assert_eq(passes_of(true), 1);
}

/* ---- waits for input ---- */

/* Steps of 200 us, `waits` of which are 600 us longer, before a copy from the host; in a range of the loader or not. */
static void waits_in(int waits, bool marked, gains *out) {
  enum { WAIT_NS = 600000, COPIED = 8 };
  gains_rig rig;
  begin(&rig);
  int64_t at = 0;
  for (uint64_t s = 0; s < COPIED; s++) {
    const int64_t start = at, wait = (int)s < waits ? WAIT_NS + 300000 : 1000;
    if (marked)
      fake_range(rig.fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_x.__next__", rig.thread, at, at + wait);
    at += wait;
    fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", rig.thread, at, at + 1000, ++rig.correlation);
    fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 4096, rig.main, at + 5000, at + 9000, rig.correlation);
    launch(&rig, rig.main, at + 2000, at + 10000, at + 190000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 4000, at + 191000, ++rig.correlation);
    at += 192000;
    fake_step(rig.fake, s, start, at);
  }
  judge(&rig, PD_FACT_RECORDER_COST, out);
}

PD_TEST(gains, a_wait_that_few_steps_have_is_named_but_not_for_sure) {
  gains out;
  waits_in(8, true, &out);
  cr_assert(out.cause == VERDICT_input_bound && gains_are_sure(&out));
  waits_in(1, true, &out);
  cr_assert(out.cause == VERDICT_input_bound && out.input_in_few && !gains_are_sure(&out));
}

PD_TEST(gains, a_silence_before_a_copy_may_be_a_wait_for_input_where_none_is_marked) {
  gains out;
  waits_in(8, false, &out);
  cr_assert(out.cause == VERDICT_input_bound && out.input_unmarked && !gains_are_sure(&out));
  waits_in(1, false, &out); /* one stall is none */
  cr_assert_eq(out.cause, VERDICT_none);
}
