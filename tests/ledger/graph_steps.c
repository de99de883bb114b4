/* What a step as a graph takes besides its kernels, and what the device needs at least. */
#include "gains_rig.h"

#include <math.h>

/* Ten kernels of 9 us, each launched 10 us after the one before has ended, and a wait for the last. */
static void launched_apart(gains_rig *rig, gains *out) {
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(rig, s);
    for (int64_t i = 0; i < 10; i++)
      launch(rig, rig->main, at + i * 19000, at + i * 19000 + 5000, at + i * 19000 + 9000);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", rig->thread, at + 172000, at + STEP_NS,
              ++rig->correlation);
  }
  judge(rig, PD_FACT_RECORDER_COST, out);
}

static double gained_ns(const gains *self) { return self->causes[VERDICT_launch_bound].gain * self->step_ns; }
static double captured_ns(const gains *self) { return self->causes[VERDICT_launch_bound].captured * self->step_ns; }

/* The host reads a flag between the kernels. A graph cannot hold that read, so that one without it saves more. */
PD_TEST(gains, a_graph_saves_more_if_the_program_does_not_block_either) {
  gains out[2];
  for (int reads = 0; reads < 2; reads++) {
    gains_rig rig;
    begin(&rig);
    for (uint64_t s = 0; s < STEPS; s++) {
      const int64_t at = add_step(&rig, s), then = reads ? 40000 : 0;
      launch(&rig, rig.main, at, at + 5000, at + 60000);
      if (reads)
        fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", rig.thread, at + 2000, at + 100000,
                  ++rig.correlation);
      launch(&rig, rig.main, at + 61000 + then, at + 66000 + then, at + 150000);
      fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 110000, at + STEP_NS,
                ++rig.correlation);
    }
    judge(&rig, PD_FACT_RECORDER_COST, &out[reads]);
  }
  cr_assert_float_eq(out[0].unsynced, 0, 1e-9);
  cr_assert_geq(out[1].unsynced, 0.2, "%g beside %g", out[1].unsynced, out[1].causes[VERDICT_launch_bound].captured);
  cr_assert_leq(out[1].unsynced + fmax(0, out[1].causes[VERDICT_launch_bound].captured), 0.25);
}

/* Steps that wait for the device begin with the launch of the graph, while it is idle, however large its kernels are.
 */
PD_TEST(gains, a_graph_takes_longer_to_start_than_a_kernel) {
  gains out[2];
  for (int waits = 0; waits < 2; waits++) {
    gains_rig rig;
    begin(&rig);
    rig.sync_timing = waits;
    launched_apart(&rig, &out[waits]);
  }
  cr_assert_float_eq(gained_ns(&out[0]) - gained_ns(&out[1]), GAINS_GRAPH_LAUNCH_NS, 1);
  cr_assert_float_eq(captured_ns(&out[0]) - captured_ns(&out[1]), GAINS_GRAPH_LAUNCH_NS, 1);
}

PD_TEST(gains, a_graph_has_a_batch_on_the_device_copied_to_where_it_reads) {
  static const pd_device_props device = {.size = sizeof device, .is_cuda = 1, .peak_bytes_per_s = 4e12};
  gains out[2];
  for (int copied = 0; copied < 2; copied++) {
    gains_rig rig;
    begin(&rig);
    rig.device = &device;
    rig.graph_input_bytes = copied ? 12000000 : 0;
    launched_apart(&rig, &out[copied]);
  }
  const double copies = GAINS_GRAPH_INPUT_NS + 24e6 / (GAINS_GRAPH_INPUT_PART * 4e3);
  cr_assert_float_eq(gained_ns(&out[0]) - gained_ns(&out[1]), copies, 1);
  cr_assert_float_eq(captured_ns(&out[0]) - captured_ns(&out[1]), copies, 1);
}

PD_TEST(gains, kernels_of_a_graph_are_further_apart_where_a_second_stream_is_in_use) {
  double captured[2];
  for (int beside = 0; beside < 2; beside++) {
    gains_rig rig;
    gains out;
    begin(&rig);
    for (uint64_t s = 0; s < STEPS; s++) {
      const int64_t at = add_step(&rig, s), first = at + 100000;
      launch(&rig, beside ? rig.side : rig.main, at, at + 2000, at + 4000);
      launch(&rig, rig.main, at + 1000, at + 5000, first - 3000);
      for (int64_t i = 0; i < 10; i++)
        launch(&rig, rig.main, at + 2000 + i * 1000, first + i * 9000, first + i * 9000 + 6000);
      fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 15000, at + STEP_NS,
                ++rig.correlation);
    }
    judge(&rig, PD_FACT_RECORDER_COST, &out);
    captured[beside] = captured_ns(&out);
  }
  cr_assert_float_eq(captured[0] - captured[1], 10 * 200, 500, "%g", captured[0] - captured[1]);
}

/* Ten launches of 6 us before what the training kit computes with two threads, and ten within it. The captured graph of
 * the kit's step holds the latter alone, and the graph of another program all. */
PD_TEST(gains, what_a_scenario_launches_beside_the_model_stays_beside_the_graph) {
  gains out[2];
  for (int ours = 0; ours < 2; ours++) {
    gains_rig rig;
    begin(&rig);
    const uint32_t other = fake_thread(rig.fake, 2, "backward");
    for (uint64_t s = 0; s < STEPS; s++) {
      const int64_t at = add_step(&rig, s);
      fake_range(rig.fake, PD_RANGE_USER, "forward", rig.thread, at + 60000, at + 100000)->part = PD_PART_FORWARD;
      fake_range(rig.fake, PD_RANGE_USER, "backward", other, at + 101000, at + 120000)->part = PD_PART_BACKWARD;
      for (int64_t i = 0; i < 20; i++) {
        const int64_t call = at + i * 6000;
        fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", rig.thread, call, call + 6000, ++rig.correlation);
        fake_kernel_fills(fake_kernel(rig.fake, "k", rig.main, call + 6000, call + 10000, rig.correlation), 2, 8);
      }
      fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 120000, at + STEP_NS,
                ++rig.correlation);
    }
    judge(&rig, PD_FACT_RECORDER_COST | (ours ? PD_FACT_TRAIN : 0), &out[ours]);
  }
  cr_assert_float_eq(out[0].causes[VERDICT_launch_bound].gain, out[1].causes[VERDICT_launch_bound].gain, 1e-9);
  /* In a graph a kernel of 4 us follows the one before it after 0.05 us. */
  cr_assert_float_eq(captured_ns(&out[0]), 19 * 1950, 500, "%g", captured_ns(&out[0]));
  cr_assert_float_eq(captured_ns(&out[1]), 9 * 1950, 500, "%g", captured_ns(&out[1]));
}

/* Two streams take turns while they are recorded, since each launch takes 15 us then: 168 us of a step of 200. The
 * program's own steps take 110, with kernels side by side, so that the device can do without the turns. */
PD_TEST(gains, the_device_needs_no_more_than_the_programs_own_step) {
  gains_rig rig;
  gains out;
  begin(&rig);
  rig.sync_timing = true;
  rig.unprofiled_step_ns = 110000;
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(&rig, s);
    for (int64_t i = 0; i < 12; i++)
      launch(&rig, i % 2 ? rig.side : rig.main, at + i * 15000, at + i * 15000 + 3000, at + i * 15000 + 17000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 182000, at + STEP_NS, ++rig.correlation);
  }
  judge(&rig, 0, &out);
  cr_assert_float_eq(out.step_ns, 110000, 5000);
  cr_assert_geq(captured_ns(&out), -GAINS_GRAPH_LAUNCH_NS - 1.0, "a graph of %g us", captured_ns(&out) / 1000);
}

/* A step of a graph of 48 kernels of 2 us, recorded 1 us apart, behind something on a second stream; as short as it can
 * get without the recorder. */
static double shortest_beside(bool kernels) {
  gains_rig rig;
  gains out;
  begin(&rig);
  rig.unprofiled_step_ns = 1;
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(&rig, s);
    fake_call(rig.fake, kernels ? PD_API_LAUNCH : PD_API_MEMCPY, "call", rig.thread, at, at + 1000, ++rig.correlation);
    if (kernels)
      fake_kernel(rig.fake, "k", rig.side, at + 1000, at + 2000, rig.correlation);
    else
      fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 1024, rig.side, at + 1000, at + 2000, rig.correlation);
    fake_call(rig.fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", rig.thread, at + 1000, at + 51000, ++rig.correlation);
    for (int64_t i = 0; i < 48; i++)
      fake_kernel(rig.fake, "k", rig.main, at + 51000 + i * 3000, at + 53000 + i * 3000, rig.correlation);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 52000, at + STEP_NS, ++rig.correlation);
  }
  judge(&rig, 0, &out);
  return out.step_ns;
}

/* The records of a graph last longer by what lies between them, but for kernels of other streams. The recorder may have
 * taken nearly all of the launch of 50 us. */
PD_TEST(gains, a_recorded_graph_gets_as_short_as_its_kernels) {
  const double alone = shortest_beside(false), beside = shortest_beside(true);
  cr_assert(beside - alone > 9000 && beside - alone <= 47 * 250, "%g, %g", alone, beside);
  cr_assert(alone > 48 * 2000 && alone < 48 * 2000 + 10000, "%g", alone);
}

/* Five launches of 6 us, then one of a graph, and a wait for its 40 kernels. Our own step has nothing more
 * to capture. Another program may capture what it launches before its graph. */
PD_TEST(gains, nothing_more_of_our_own_step_is_captured_where_it_is_a_graph) {
  for (int ours = 0; ours < 2; ours++) {
    gains_rig rig;
    gains out;
    begin(&rig);
    rig.sync_timing = ours; /* a graph that has yet to be made would take 3 us to start */
    for (uint64_t s = 0; s < STEPS; s++) {
      const int64_t at = add_step(&rig, s);
      for (int64_t i = 0; i < 5; i++) {
        const int64_t call = at + i * 6000;
        fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", rig.thread, call, call + 6000, ++rig.correlation);
        fake_kernel(rig.fake, "k", rig.main, call + 6000, call + 8000, rig.correlation);
      }
      fake_call(rig.fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", rig.thread, at + 30000, at + 60000,
                ++rig.correlation);
      for (int64_t i = 0; i < 40; i++)
        fake_kernel(rig.fake, "k", rig.main, at + 62000 + i * 3000, at + 64900 + i * 3000, rig.correlation);
      fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 60000, at + STEP_NS,
                ++rig.correlation);
    }
    judge(&rig, PD_FACT_RECORDER_COST | (ours ? PD_FACT_TRAIN : 0), &out);
    cr_assert_float_eq(gained_ns(&out), 30000, 500, "%g us", gained_ns(&out) / 1000);
    cr_assert_float_eq(captured_ns(&out), ours ? 0 : 30000, 500, "%g us", captured_ns(&out) / 1000);
    cr_assert_eq(out.cause, ours ? VERDICT_none : VERDICT_launch_bound);
  }
}
