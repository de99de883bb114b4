/* Graphs, the length of a step, silence of the host, passes, and waits for input. */
#include "gains_rig.h"

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
  queued_kernels(3000, 1000, 0, &out); /* of 200 us ten times 3 us, and 0.95 us of each gap */
  const gains_cause *launching = &out.causes[VERDICT_launch_bound];
  cr_assert_float_eq(launching->gain - launching->captured, 30 / 200.0, 1e-9);
  cr_assert_leq(launching->captured, 0.06);
  cr_assert_gt(launching->captured, 0);
  queued_kernels(4000, 1000, 0, &out);
  cr_assert_float_eq(launching->gain, launching->captured, 1e-9);
}

/* Steps of one graph of 48 kernels of 3 us, recorded 1 us apart. */
static void graph_steps(gains_rig *rig) {
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig->fake, s, at, at + STEP_NS);
    fake_call(rig->fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", rig->thread, at, at + 4000, ++rig->correlation);
    for (int64_t i = 0; i < 48; i++)
      fake_kernel(rig->fake, "k", rig->main, at + 4000 + i * 4000, at + 7000 + i * 4000, rig->correlation);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", rig->thread, at + 5000, at + STEP_NS,
              ++rig->correlation);
  }
}

/* A graph makes neither the kernels of another nor their gaps shorter. */
PD_TEST(gains, what_is_in_a_graph_is_not_launched_for_less) {
  gains_rig rig;
  gains out;
  begin(&rig);
  graph_steps(&rig);
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  const gains_cause *launching = &out.causes[VERDICT_launch_bound];
  cr_assert_leq(launching->gain, 4000.0 / STEP_NS);
  cr_assert_float_eq(launching->gain, launching->captured, 1e-9);
}

PD_TEST(gains, what_lies_between_the_kernels_of_a_graph_is_the_recorders) {
  gains_rig rig;
  gains out;
  begin(&rig);
  rig.unprofiled_step_ns = 156000;
  graph_steps(&rig);
  judge(&rig, 0, &out);
  cr_assert_float_eq(out.step_ns, 156000, 1000, "%g", out.step_ns);
  begin(&rig); /* a part of it */
  rig.unprofiled_step_ns = 180000;
  graph_steps(&rig);
  judge(&rig, 0, &out);
  cr_assert_float_eq(out.step_ns, 180000, 1000, "%g", out.step_ns);
  begin(&rig);
  graph_steps(&rig);
  judge(&rig, PD_FACT_RECORDER_COST, &out); /* it costs nothing */
  cr_assert_float_eq(out.step_ns, STEP_NS, 1000, "%g", out.step_ns);
}

/* Fewer and larger kernels would save more than twice the least gain that is named. */
PD_TEST(gains, launching_is_not_named_where_a_graph_saves_little) {
  gains out;
  queued_kernels(3000, 1000, 0, &out);
  const gains_cause *launching = &out.causes[VERDICT_launch_bound];
  cr_assert(launching->gain > 2 * GAINS_LEAST_CUDA && launching->captured < GAINS_LEAST_CUDA, "%g, %g", launching->gain,
            launching->captured);
  cr_assert_eq(out.cause, VERDICT_none);
}

/* The step takes 200 us, and a prediction may be off by 5 us. */
PD_TEST(gains, what_a_graph_saves_of_a_short_step_has_to_be_more_than_a_prediction_may_miss) {
  for (int64_t gap_ns = 1000; gap_ns <= 3000; gap_ns += 250) {
    gains_rig rig;
    gains out;
    begin(&rig);
    rig.sync_timing = true;
    queue_kernels(&rig, 4000, gap_ns);
    judge(&rig, PD_FACT_RECORDER_COST, &out);
    const double saved_ns = out.causes[VERDICT_launch_bound].captured * out.step_ns;
    cr_assert_eq(out.cause,
                 saved_ns < GAINS_LEAST_CUDA * out.step_ns + GAINS_GRAPH_DOUBT_NS ? VERDICT_none : VERDICT_launch_bound,
                 "a graph saves %g us", saved_ns / 1000);
    if (gap_ns == 1000) cr_assert_lt(saved_ns, 10000);
    if (gap_ns == 1750) cr_assert(saved_ns > 10000 && saved_ns < 15000, "%g", saved_ns);
    if (gap_ns == 3000) cr_assert_gt(saved_ns, 15000);
  }
}

/* Steps that wait for the device at their end and in their middle; marked behind the wait at the end, or before it. */
static double saved_without_waits(bool marked_before) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS + (marked_before ? 1u : 0u); s++) {
    const int64_t at = (int64_t)s * STEP_NS, mark = marked_before ? at + 150000 : at;
    if (s < STEPS) fake_step(rig.fake, s, mark, mark + STEP_NS);
    launch(&rig, rig.main, at + 1000, at + 6000, at + 60000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 3000, at + 61000, ++rig.correlation);
    launch(&rig, rig.main, at + 100000, at + 105000, at + 189000);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, at + 152000, at + 190000, ++rig.correlation);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  return out.causes[VERDICT_forced_sync].gain;
}

PD_TEST(gains, the_loops_own_wait_is_no_forced_one_wherever_the_step_is_marked) {
  const double behind = saved_without_waits(false), before = saved_without_waits(true);
  cr_assert_gt(behind, 0.1);
  cr_assert_float_eq(before, behind, 0.01, "%g, %g", before, behind);
}

PD_TEST(gains, kernels_of_a_graph_follow_one_another_at_once_however_far_apart_they_were) {
  gains out;
  queued_kernels(4000, 3000, 0, &out);
  cr_assert_geq(out.causes[VERDICT_launch_bound].captured, 10 * 2500 / 200e3);
  queued_kernels(4000, 6000, 0, &out);
  cr_assert_geq(out.causes[VERDICT_launch_bound].captured, 10 * 5500 / 200e3);
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

/* The device itself takes more than a microsecond from one kernel to the next, or less where the run's own steps say
 * so: down to what it takes in a graph, and a quarter of the rest. The graph is no shorter for that. */
PD_TEST(gains, short_gaps_of_a_full_queue_are_the_devices_own) {
  gains out;
  queued_kernels(4000, 1200, 0, &out);
  cr_assert_float_eq(out.step_ns, 200e3, 1e-9);
  const double graph_ns = out.step_ns * (1 - out.causes[VERDICT_launch_bound].captured);
  queued_kernels(4000, 1200, 199990, &out);
  cr_assert_float_eq(out.step_ns, 200e3, 20);
  queued_kernels(4000, 1200, 194000, &out);
  cr_assert_float_eq(out.step_ns, 194e3, 300);
  cr_assert_float_eq(out.step_ns * (1 - out.causes[VERDICT_launch_bound].captured), graph_ns, 100);
  queued_kernels(4000, 1200, 150000, &out);
  cr_assert(out.step_ns >= 200e3 - 10 * 1150 && out.step_ns < 192e3, "%g", out.step_ns);
}

/* Two streams that nothing ties: each kernel is launched when the one before is done, and takes 15 of 20 us. */
PD_TEST(gains, a_step_takes_no_less_than_the_device_is_busy) {
  gains_rig rig;
  gains out;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = add_step(&rig, s);
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
    const int64_t start = add_step(&rig, s), length = 4000 + (int64_t)s * 1000;
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
  judge_silence(775000, NULL, false, 500, &out);
  cr_assert_eq(out.cause, VERDICT_host_compute);
  cr_assert_eq(out.near, VERDICT_launch_bound);
  cr_assert(!gains_are_sure(&out));
  judge_silence(1150000, NULL, false, 500, &out);
  cr_assert(out.near == VERDICT_COUNT && gains_are_sure(&out));
  judge_silence(775000, NULL, false, 0, &out); /* recording costs nothing */
  cr_assert(out.near == VERDICT_COUNT && gains_are_sure(&out));
}

PD_TEST(gains, a_silence_between_operations_is_computing) {
  cr_assert_float_eq(gain_of_silence(240000, NULL, false), 0, 1e-9);
  cr_assert_float_eq(gain_of_silence(400000, NULL, false), 0.2, 0.001);
}

/* Half of 300 us of launching goes with a long silence (pauses.c). */
#define COLD_GAIN 0.075

PD_TEST(gains, an_optimizer_that_walks_over_its_parameters_is_launching) {
  cr_assert_float_eq(gain_of_silence(400000, "Optimizer.step#AdamW.step", false), 0, 1e-9);
  cr_assert_float_eq(gain_of_silence(1100000, "Optimizer.step#AdamW.step", false), 0.555 + COLD_GAIN, 0.001);
}

PD_TEST(gains, a_thread_that_takes_its_time_to_wake_computes_nothing) {
  cr_assert_float_eq(gain_of_silence(400000, NULL, true), 0, 1e-9);
  cr_assert_float_eq(gain_of_silence(600000, NULL, true), 0.3 + COLD_GAIN, 0.003);
}

/* ---- what ran before ---- */

PD_TEST(gains, the_first_step_is_left_out_where_work_of_before_held_it_up) {
  gains_rig rig;
  gains out;
  begin(&rig);
  fake_kernel(rig.fake, "k", rig.main, 1000, 150000, 0); /* launched before the recording */
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = add_step(&rig, s);
    launch(&rig, rig.side, at, at + 5000, at + 9000); /* waits for nothing */
    launch(&rig, rig.main, at + 10000, at + 151000, at + 150000 + STEP_NS);
  }
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  cr_assert_eq(out.steps, STEPS - 1);
  cr_assert_float_eq(out.recorded_ns, STEP_NS, 1);
}

/* ---- passes ---- */

/* A second thread launches bursts of the same kernels: in turns with the loop's thread, which may run an optimizer
 * behind each, or while that launches. In turns, all but the first may add to gradients, too. */
typedef enum bursts { IN_TURNS, WITH_OPTIMIZERS, AT_ONCE, ADDING, ADDING_MORE } bursts;

static void begin_bursts(gains_rig *self, bursts how) {
  const bool at_once = how == AT_ONCE;
  const char *const main_kernel = how == WITH_OPTIMIZERS ? "multi_tensor_apply_kernel<Adam>" : "forward";
  begin(self);
  const uint32_t other = fake_thread(self->fake, 2, "second");
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = add_step(self, s);
    for (int64_t i = 0; i < 18; i++) {
      const int64_t at = start + i * 10000;
      const bool is_second = !at_once && i % 6 >= 3; /* three bursts of three */
      const int64_t length = is_second ? 1000 : 4000;
      fake_call(self->fake, PD_API_LAUNCH, "cudaLaunchKernel", is_second ? other : self->thread, at, at + length,
                ++self->correlation);
      fake_kernel(self->fake, is_second ? "backward" : main_kernel, self->main, at + 5000, at + 9000,
                  self->correlation);
      const int64_t adds = how < ADDING || !is_second || i < 6 ? 0 : how == ADDING ? 1 : 2;
      for (int64_t k = 1; k <= adds; k++) {
        fake_call(self->fake, PD_API_LAUNCH, "cudaLaunchKernel", other, at + k * 2000, at + k * 2000 + 500,
                  ++self->correlation);
        fake_kernel(self->fake, "add", self->main, at + 9000 + k * 100, at + 9050 + k * 100, self->correlation);
      }
      if (!at_once) continue;
      fake_call(self->fake, PD_API_LAUNCH, "cudaLaunchKernel", other, at + 1000, at + 5000, ++self->correlation);
      fake_kernel(self->fake, "backward", self->side, at + 6000, at + 9500, self->correlation);
    }
  }
}

static uint64_t passes_of(bursts how) {
  gains_rig rig;
  gains out;
  begin_bursts(&rig, how);
  judge(&rig, PD_FACT_RECORDER_COST, &out);
  return out.passes;
}

/* The passes end at 51, 111 and 171 us. What lies between the first end and the last one goes with the later passes,
 * but for 6 calls of 4 us and 6 of 1 us. What follows the last pass does not go. */
PD_TEST(gains, what_lies_between_two_passes_leads_to_the_later_one) {
  gains_rig rig;
  timeline of;
  int64_t later_ns = 0;
  begin_bursts(&rig, IN_TURNS);
  pd_trace *trace = fake_trace_finish(rig.fake);
  trace->facts = PD_FACT_CALLS | PD_FACT_STEPS;
  trace_facts *facts = facts_open(trace);
  cr_assert(facts && timeline_open(facts, &of));
  for (uint64_t i = 0; i < of.item_count; i++)
    if ((of.items[i].flags & REPLAY_QUIET) && (of.items[i].flags & REPLAY_LATER_PASS))
      later_ns += of.items[i].duration_ns;
  cr_assert_eq(later_ns, (int64_t)STEPS * (171000 - 51000 - 6 * 4000 - 6 * 1000));
  timeline_close(&of);
  facts_close(facts);
  fake_trace_close(rig.fake);
}

PD_TEST(gains, a_thread_that_launches_beside_the_loops_own_makes_no_passes) {
  cr_assert_eq(passes_of(IN_TURNS), 3);
  cr_assert_eq(passes_of(AT_ONCE), 1);
}

/* 3 of 6 kernels are those of the first pass; 3 of 9 are too few. */
PD_TEST(gains, the_first_pass_adds_nothing_to_gradients) {
  cr_assert_eq(passes_of(ADDING), 3);
  cr_assert_eq(passes_of(ADDING_MORE), 2);
}

PD_TEST(gains, an_optimizer_behind_each_burst_makes_no_passes) { cr_assert_eq(passes_of(WITH_OPTIMIZERS), 1); }

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
