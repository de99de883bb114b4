/* What recording adds to made-up steps, where the trace alone can say it. */
#include "gains_rig.h"

/* Ten operations of 18 us a step, each with one in it that begins `nested_ns` later and launches. */
static double added_by_recording(int64_t nested_ns) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(&rig, s);
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

/* Five calls a step, two of which take `call_ns` and three of which take three times as long. The last of them copies.
 */
static double added_to_launches(int64_t call_ns) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(&rig, s);
    for (int64_t i = 0; i < 5; i++) {
      const int64_t from = at + i * 40000, took = i < 2 ? call_ns : 3 * call_ns;
      fake_call(rig.fake, i == 4 ? PD_API_MEMCPY : PD_API_LAUNCH, i == 4 ? "cudaMemcpyAsync" : "cudaLaunchKernel",
                rig.thread, from, from + took, ++rig.correlation);
      if (i == 4)
        fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 1 << 16, rig.main, from + 36000, from + 38000,
                  rig.correlation);
      else
        fake_kernel(rig.fake, "k", rig.main, from + 36000, from + 38000, rig.correlation);
    }
  }
  judge(&rig, 0, &out);
  return out.recorded_ns - out.step_ns;
}

PD_TEST(gains, where_no_operation_is_known_the_launches_show_how_slow_recording_is) {
  cr_assert_float_eq(added_to_launches(3000), 5 * GAINS_LAUNCH_RECORDED * 3000, 1000);
  cr_assert_float_eq(added_to_launches(6000), 5 * GAINS_LAUNCH_RECORDED * 6000, 2000);
  cr_assert_float_eq(added_to_launches(11500), 5 * GAINS_LAUNCH_RECORDED * GAINS_LAUNCH_MOST_NS, 3000);
}

PD_TEST(gains, in_a_graph_recording_costs_by_its_kernels) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(&rig, s);
    fake_call(rig.fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", rig.thread, at, at + 100000, ++rig.correlation);
    for (int64_t from = at + 100000; from < at + 130000; from += 3000)
      fake_kernel(rig.fake, "k", rig.main, from, from + 2000, rig.correlation);
  }
  judge(&rig, 0, &out);
  cr_assert_float_eq(out.recorded_ns - out.step_ns, 10 * GAINS_GRAPH_RECORD_NS, 1000, "%g",
                     out.recorded_ns - out.step_ns);
}

PD_TEST(gains, never_more_than_half_of_the_launching_is_the_recorders) {
  cr_assert_float_eq(added_by_recording(4000), 0.5 * STEP_NS, 0.02 * STEP_NS);
}

/* Half of a step waits for a batch, during which there are `operations` of 8 us, the other half is ten operations of
 * 10 us, each of which launches. Every operation has one in it that begins 400 ns later. */
static gains half_for_input(int64_t operations) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(&rig, s);
    fake_range(rig.fake, PD_RANGE_DATALOADER, "DataLoader", rig.thread, at, at + STEP_NS / 2);
    for (int64_t i = 0; i < operations + 10; i++) {
      const int64_t from = i < operations ? at + i * 8000 : at + STEP_NS / 2 + (i - operations) * 10000;
      fake_range(rig.fake, PD_RANGE_OP, "aten::mul", rig.thread, from, from + 7500);
      fake_range(rig.fake, PD_RANGE_OP, "aten::to", rig.thread, from + 400, from + 7000);
      if (i >= operations) launch(&rig, rig.main, from + 5000, from + 7000, from + 8000);
    }
  }
  judge(&rig, PD_FACT_OPERATIONS | PD_FACT_INPUT, &out);
  return out;
}

PD_TEST(gains, recording_lengthens_batches_that_the_loop_makes_itself) {
  const gains made = half_for_input(12), waited = half_for_input(2);
  /* 44 operations and 10 launches cost 52 us, of 200 us that they lie in: a batch is made in 74 us of 148. */
  const double added = (44 * GAINS_OPERATION_NESTED + 10 * GAINS_LAUNCH_NESTED) * 400;
  const double keep = 1 - added / STEP_NS;
  cr_assert_float_eq(made.step_ns, keep * STEP_NS, 0.02 * STEP_NS);
  cr_assert_float_eq(made.causes[VERDICT_input_bound].gain, 0.5, 0.02);
  /* A wait for workers is as long without the recorder. */
  cr_assert_float_eq(waited.causes[VERDICT_input_bound].gain * waited.step_ns, STEP_NS / 2.0, 0.02 * STEP_NS);
}
