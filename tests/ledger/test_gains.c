/* The gains of made-up steps: what recording adds, and what goes with a cause. */
#include "gains_rig.h"

static void event(gains_rig *self, int64_t at) {
  fake_call(self->fake, PD_API_OTHER, "cudaEventRecord", self->thread, at, at + 100, ++self->correlation);
  fake_call(self->fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", self->thread, at + 100, at + 200,
            ++self->correlation);
}

/* ---- what recording adds ---- */

/* Ten launches a step, one every 20 us, each of two kernels of 7 us. Recording costs 4 us of each launch. */
static void launches_of_20_us(gains_rig *rig, gains *out) {
  begin(rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig->fake, s, at, at + STEP_NS);
    for (int64_t i = 0; i < 10; i++) {
      const int64_t from = at + i * 20000, end = from + 20000;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", rig->thread, end - 1000, end, ++rig->correlation);
      fake_kernel(rig->fake, "k", rig->main, end, end + 7000, rig->correlation);
      fake_kernel(rig->fake, "k", rig->main, end + 7000, end + 14000, rig->correlation);
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

/* Nine reads a step, of which each takes 10 us beside its waiting for a kernel of 10 us: half of that is the
 * recorder's. */
PD_TEST(gains, what_recording_adds_to_blocking_calls_is_left_out) {
  gains_rig rig;
  gains out;
  begin(&rig);
  rig.unprofiled_step_ns = STEP_NS - 9 * 5000;
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, start, start + STEP_NS);
    for (int64_t i = 0; i < 9; i++) {
      const int64_t at = start + i * 22000;
      launch(&rig, rig.main, at, at + 2000, at + 12000);
      fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", rig.thread, at + 1500, at + 22000, ++rig.correlation);
    }
    launch(&rig, rig.main, start + 198000, start + 199000, start + STEP_NS);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  cr_assert_float_eq(out.step_ns, (double)rig.unprofiled_step_ns, 0.03 * STEP_NS);
  cr_assert_eq(out.cause, VERDICT_forced_sync);
}

/* Ten launches a step that each take all of 20 us. */
static void launching_kernels_of(int64_t kernel_ns, gains_rig *rig, gains *out, int64_t unprofiled_ns,
                                 const pd_twin *twin) {
  begin(rig);
  rig->unprofiled_step_ns = unprofiled_ns;
  if (twin) rig->twin = *twin;
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig->fake, s, at, at + STEP_NS);
    for (int64_t i = 0; i < 10; i++) {
      const int64_t end = at + (i + 1) * 20000;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", rig->thread, end - 20000, end, ++rig->correlation);
      fake_kernel(rig->fake, "k", rig->main, end, end + kernel_ns, rig->correlation);
    }
  }
  judge(rig, 0, out);
}

static void launching_all_the_time(gains_rig *rig, gains *out, int64_t unprofiled_ns, const pd_twin *twin) {
  launching_kernels_of(2000, rig, out, unprofiled_ns, twin);
}

/* However little the launching takes, the device needs its time. */
PD_TEST(gains, what_recording_adds_is_found_where_the_device_nearly_holds_up_the_step) {
  gains_rig rig;
  gains out;
  launching_kernels_of(5000, &rig, &out, 1, NULL);
  const int64_t least_ns = (int64_t)out.step_ns;
  cr_assert_geq(least_ns, 50000);
  cr_assert_leq(least_ns, 100000);
  for (int64_t more = 100; more <= 50000; more += more / 8) {
    launching_kernels_of(5000, &rig, &out, least_ns + more, NULL);
    const double found = out.step_ns / (double)(least_ns + more);
    cr_assert_float_eq(found, 1, 0.001, "a step of %lld ns more than the device's: %f of it", (long long)more, found);
  }
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
    const int64_t start = add_step(&rig, s);
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
  /* Eight reads of 4 us; and the 4 us of launching before each but the first. */
  cr_assert_float_eq(gain_of_reads(8, 1), (8 * 4 + 7 * 4) / 200.0, 1e-9);
}

PD_TEST(gains, kernels_that_work_do_not_go_with_the_reads_between_them) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = add_step(&rig, s);
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
  cr_assert_float_eq(gain_of_reads(3, 1), 3 * 4 / 200.0, 1e-9);
  cr_assert_float_eq(gain_of_reads(6, 3), 6 * 4 / 200.0, 1e-9);
}

/* ---- streams ---- */

/* Steps in which the work goes to the other stream and back `hops` times, by `kernels` kernels of `length_us` each
 * time; each time in an operation of its own, or all in one. */
static void hand_over(int64_t hops, int64_t kernels, int64_t length_us, bool in_one_operation, gains *out) {
  gains_rig rig;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = add_step(&rig, s);
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

/* Without operations: half of a step runs on another stream, or divided between two. */
static double saved_by_no_wait(bool divided) {
  gains_rig rig;
  gains out;
  begin(&rig);
  const uint32_t third = fake_stream(rig.fake, 0, 1, 9);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = add_step(&rig, s);
    launch(&rig, rig.main, start, start + 5000, start + 60000);
    event(&rig, start + 1500);
    launch(&rig, rig.side, start + 2000, start + 61000, start + 120000);
    event(&rig, start + 3500);
    if (divided) launch(&rig, third, start + 4000, start + 62000, start + 119000);
    event(&rig, start + 5500);
    launch(&rig, rig.main, start + 6000, start + 121000, start + STEP_NS - 1000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, start + 8000, start + STEP_NS,
              ++rig.correlation);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  return out.causes[VERDICT_serial_streams].gain;
}

PD_TEST(gains, streams_that_run_beside_each_other_are_a_librarys_where_operations_are_not_known) {
  cr_assert_gt(saved_by_no_wait(false), 0.1);
  cr_assert_lt(saved_by_no_wait(true), 0.01);
}

enum { BEGINS_WITH_SET, BEGINS_WITH_COPY, BEGINS_WITH_COPY_TO_HOST };

/* Half of a step runs on another stream, and the rest waits for it. */
static void half_waits(int begins_with, gains *out) {
  gains_rig rig;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = add_step(&rig, s), at = start + 101000;
    const bool sets = begins_with == BEGINS_WITH_SET;
    launch(&rig, rig.side, start, start + 5000, start + 100000);
    event(&rig, start + 1500);
    fake_call(rig.fake, sets ? PD_API_MEMSET : PD_API_MEMCPY, sets ? "cudaMemsetAsync" : "cudaMemcpyAsync", rig.thread,
              start + 2000, start + 3000, ++rig.correlation);
    if (sets)
      fake_kernel(rig.fake, "Memset (Device)", rig.main, at, at + 2000, rig.correlation)->detail.kind =
          PD_ACTIVITY_MEMSET;
    else
      fake_copy(rig.fake, PD_MEMORY_DEVICE, begins_with == BEGINS_WITH_COPY ? PD_MEMORY_DEVICE : PD_MEMORY_PINNED, 4096,
                rig.main, at, at + 2000, rig.correlation);
    launch(&rig, rig.main, start + 4000, start + 104000, start + STEP_NS - 1000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, start + 6000, start + STEP_NS,
              ++rig.correlation);
  }
  judge(&rig, PD_FACT_RECORDER_COST, out);
}

PD_TEST(gains, a_set_that_waits_for_another_stream_is_held_up_as_a_kernel_is) {
  gains out;
  half_waits(BEGINS_WITH_SET, &out);
  cr_assert_float_eq(out.causes[VERDICT_serial_streams].gain, 0.47, 0.02);
  cr_assert_eq(out.cause, VERDICT_serial_streams);
}

/* So do batches that are copied to where a graph reads them. */
PD_TEST(gains, a_copy_within_the_device_that_waits_for_another_stream_is_held_up_too) {
  gains out;
  half_waits(BEGINS_WITH_COPY, &out);
  cr_assert_float_eq(out.causes[VERDICT_serial_streams].gain, 0.47, 0.02);
  half_waits(BEGINS_WITH_COPY_TO_HOST, &out);
  cr_assert_lt(out.causes[VERDICT_serial_streams].gain, 0.01);
}

PD_TEST(gains, a_long_section_on_another_stream_is_no_hop) {
  gains out;
  hand_over(4, 8, 3, false, &out);
  const double hops = out.hops;
  hand_over(4, 9, 3, false, &out);
  cr_assert_geq(hops, 3);
  cr_assert_lt(out.hops, 1);
}

/* ---- kernels that begin beside the one before ---- */

static double worst_miss(const char *call, uint32_t capability) {
  static pd_device_props device = {.size = sizeof device, .is_cuda = 1};
  gains_rig rig;
  gains out;
  device.compute_major = capability;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = add_step(&rig, s);
    for (int64_t i = 0; i < 8; i++) { /* each kernel begins 3 us before the one before it ends */
      const int64_t at = start + i * 4000, from = start + 6000 + i * 24000;
      fake_call(rig.fake, PD_API_LAUNCH, call, rig.thread, at, at + 3000, ++rig.correlation);
      fake_kernel(rig.fake, "k", rig.main, from, from + 27000, rig.correlation);
    }
  }
  pd_trace *trace = fake_trace_finish(rig.fake);
  trace->facts = PD_FACT_CALLS | PD_FACT_STEPS;
  trace->device = &device;
  trace_facts *facts = facts_open(trace);
  cr_assert(facts && gains_find(facts, &out));
  const double miss = out.miss_worst;
  gains_free(&out);
  facts_close(facts);
  fake_trace_close(rig.fake);
  return miss;
}

PD_TEST(gains, a_kernel_that_is_launched_programmatically_may_begin_beside_the_one_before) {
  cr_assert_lt(worst_miss("cudaLaunchKernelExC", 9), 0.001);
  cr_assert_gt(worst_miss("cudaLaunchKernelExC", 8), 0.05, "not before compute capability 9.0");
  cr_assert_gt(worst_miss("cudaLaunchKernel", 9), 0.05);
}
