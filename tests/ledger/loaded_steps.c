/* Steps whose batches come from a loader with workers: it sets the pace where it does not keep up. */
#include "gains_rig.h"
#include "facts/loader_use.h"

/* Steps of 200 us, 50 of which the recorder added: the loop waits for a batch, then launches ten kernels. Two workers
 * make a batch in `batch_ns` each, one after the other. */
typedef struct loaded {
  int64_t wait_ns, batch_ns;
  uint64_t batches;
  bool sync_timing;
  bool without_twin; /* what the recorder added is known from the steps before it */
} loaded;

static void steps_of(loaded how, gains *out) {
  enum { WORKERS = 2 };
  const int64_t batch_ns = how.batch_ns;
  gains_rig rig;
  begin(&rig);
  rig.sync_timing = how.sync_timing;
  if (how.without_twin)
    rig.unprofiled_step_ns = 150000;
  else
    rig.twin = (pd_twin){.step_ns = 150000, .added_ns = 50000, .low_ns = 40000, .high_ns = 60000, .rounds = 8};
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = (int64_t)s * STEP_NS, train = start + how.wait_ns, launch_ns = (STEP_NS - how.wait_ns) / 10;
    fake_step(rig.fake, s, start, start + STEP_NS)->data_wait_ns = how.wait_ns;
    fake_range(rig.fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", rig.thread, start, train);
    for (int64_t i = 0; i < 10; i++) {
      const int64_t end = train + (i + 1) * launch_ns;
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", rig.thread, end - launch_ns, end, ++rig.correlation);
      fake_kernel(rig.fake, "k", rig.main, end, end + 2000, rig.correlation);
    }
  }
  for (uint32_t w = 0; w < WORKERS; w++) {
    const uint32_t worker = fake_thread(rig.fake, 2 + w, w ? "pdhost loader 1" : "pdhost loader 0");
    for (uint64_t b = 0; b < how.batches; b++) {
      const int64_t at = (int64_t)b * batch_ns, end = at + batch_ns;
      fake_range(rig.fake, PD_RANGE_WORKER, "DataLoader worker: batch", worker, at,
                 end < STEPS * STEP_NS ? end : STEPS * STEP_NS);
    }
  }
  judge(&rig, PD_FACT_INPUT, out);
}

/* The loop waits for half of each step. */
static void loaded_steps(int64_t batch_ns, uint64_t batches, gains *out) {
  steps_of((loaded){.wait_ns = 100000, .batch_ns = batch_ns, .batches = batches}, out);
}

/* The window ends within the batches that either worker began last: those tell how many workers there are, and not how
 * long a batch takes. */
PD_TEST(gains, batches_that_the_window_cuts_say_nothing_of_their_length) {
  gains out;
  loaded_steps(380000, 4, &out);
  cr_assert_float_eq(out.loader_ns, 190000, 1e-6);
}

/* Without the recorder the loop would come for its batches 50 us earlier, and would wait for them. */
PD_TEST(gains, a_step_takes_no_less_than_the_loader_needs_for_a_batch) {
  gains out;
  loaded_steps(380000, 3, &out);
  cr_assert_float_eq(out.loader_ns, 190000, 1e-6);
  cr_assert_float_eq(out.step_ns, 190000, 1e-6);
  cr_assert_float_eq(out.causes[VERDICT_input_bound].gain, 1 - 50000 / 190000.0, 0.02);
  cr_assert_float_eq(out.causes[VERDICT_launch_bound].gain, 0, 1e-9, "the loop would wait for longer");
  cr_assert_eq(out.cause, VERDICT_input_bound);
  cr_assert_not(out.input_by_pace, "the recorded loop waits, too");
  cr_assert(out.causes[VERDICT_input_bound].low <= out.causes[VERDICT_input_bound].gain);
  cr_assert_float_eq(out.without[0].step_ns, 50000, 3000);
}

/* The recorder makes the loop so slow that the workers keep up. Without it a step takes as long as a batch. */
PD_TEST(gains, a_loop_that_waits_for_nothing_while_recorded_may_wait_without_the_recorder) {
  gains out;
  steps_of((loaded){.wait_ns = 1000, .batch_ns = 380000, .batches = 3}, &out);
  cr_assert_float_eq(out.step_ns, 190000, 1e-6);
  cr_assert(out.input_by_pace && !gains_are_sure(&out), "the pace of six batches is all that says so");
  cr_assert_float_eq(out.causes[VERDICT_launch_bound].gain, 0, 1e-9);
  cr_assert_float_eq(out.causes[VERDICT_input_bound].gain, 1 - 150000 / 190000.0, 0.02);
  cr_assert_eq(out.cause, VERDICT_input_bound);
}

/* The workers are still at the next batch while a graph starts. */
PD_TEST(gains, a_loop_that_waits_for_batches_loses_nothing_by_a_graph) {
  gains out;
  steps_of((loaded){.wait_ns = 100000, .batch_ns = 380000, .batches = 3, .sync_timing = true}, &out);
  cr_assert_float_eq(out.step_ns, 190000, 1e-6);
  cr_assert_float_eq(out.causes[VERDICT_launch_bound].gain, 0, 1e-9);
  cr_assert_float_eq(out.causes[VERDICT_launch_bound].captured, 0, 1e-9);
}

/* Steps that the loop did not wait for took 150 us each before the recorder, their waits included. */
PD_TEST(gains, a_loader_was_not_slower_than_the_steps_before_the_recorder) {
  gains out;
  steps_of((loaded){.wait_ns = 1000, .batch_ns = 380000, .batches = 3, .without_twin = true}, &out);
  cr_assert_float_eq(out.loader_ns, 150000, 1e-6);
  cr_assert_float_eq(out.step_ns, 150000, 2000);
}

PD_TEST(gains, recorded_steps_took_no_less_than_their_batches) {
  gains out;
  loaded_steps(500000, 2, &out);
  cr_assert_float_eq(out.step_ns, out.recorded_ns, 1e-6);
  cr_assert_float_eq(out.loader_ns, out.recorded_ns, 1e-6);
}

PD_TEST(gains, a_loader_that_keeps_up_bounds_nothing) {
  gains out;
  loaded_steps(100000, 3, &out);
  cr_assert_float_eq(out.loader_ns, 50000, 1e-6);
  cr_assert_float_eq(out.step_ns, 150000, 2000);
  cr_assert_gt(out.causes[VERDICT_launch_bound].gain, 0.2);
}

PD_TEST(gains, one_batch_of_each_worker_does_not_tell_how_many_there_are) {
  gains out;
  loaded_steps(380000, 1, &out);
  cr_assert_float_eq(out.loader_ns, 0, 1e-9);
  cr_assert_float_eq(out.step_ns, 150000, 2000);
}

/* One worker, whose first and third batch the window cuts. Each batch reads twice. */
PD_TEST(gains, reading_is_that_of_the_same_batches) {
  fake_trace *fake = fake_trace_open();
  const uint32_t loop = fake_thread(fake, 1, "loop"), worker = fake_thread(fake, 2, "pdhost loader 0");
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 0, 0, 300000);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", loop, 1000, 2000, 1);
  fake_kernel(fake, "k", stream, 3000, 4000, 1);
  static const int64_t batches[][2] = {{0, 90000}, {100000, 200000}, {210000, 300000}};
  for (int b = 0; b < 3; b++) {
    fake_range(fake, PD_RANGE_WORKER, "DataLoader worker: batch", worker, batches[b][0], batches[b][1]);
    for (int64_t r = 0; r < 2; r++)
      fake_range(fake, PD_RANGE_WORKER, "DataLoader worker: read", worker, batches[b][0] + 5000 + r * 20000,
                 batches[b][0] + 15000 + r * 20000);
  }
  pd_trace *trace = fake_trace_finish(fake);
  trace_facts *facts = facts_open(trace);
  cr_assert_not_null(facts);
  const loader_use use = loader_use_of(facts, INT64_MIN, INT64_MAX);
  cr_assert(use.workers == 1 && use.begun == 3 && use.batches == 1);
  cr_assert_float_eq(use.batch_ns, 100000, 1e-9);
  cr_assert_float_eq(use.read_ns, 20000, 1e-9);
  cr_assert_float_eq(loader_use_pace_ns(&use), 100000, 1e-9);
  facts_close(facts);
  fake_trace_close(fake);
}

/* The loop waits 100 us for its batch, and copies it for 50 us before a kernel of 50 us reads it. */
PD_TEST(gains, batches_that_lie_on_the_device_are_not_copied_either) {
  gains out[2];
  for (int copied = 0; copied < 2; copied++) {
    gains_rig rig;
    begin(&rig);
    for (uint64_t s = 0; s < STEPS; s++) {
      const int64_t at = add_step(&rig, s), train = at + 100000, kernel = train + (copied ? 50000 : 0);
      fake_range(rig.fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", rig.thread, at, train);
      if (copied) {
        fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", rig.thread, train, train + 1000, ++rig.correlation);
        fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 1 << 20, rig.main, train + 1000, kernel,
                  rig.correlation);
      }
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", rig.thread, train + 1000, train + 2000, ++rig.correlation);
      fake_kernel(rig.fake, "k", rig.main, kernel + 2000, at + STEP_NS, rig.correlation);
      fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", rig.thread, train + 2000, at + STEP_NS,
                ++rig.correlation);
    }
    judge(&rig, PD_FACT_INPUT, &out[copied]);
  }
  cr_assert_float_eq(out[0].causes[VERDICT_input_bound].gain, 0.5, 0.02);
  cr_assert_float_eq(out[0].uncopied, 0, 1e-9);
  cr_assert_float_eq(out[1].causes[VERDICT_input_bound].gain, 0.5, 0.02);
  cr_assert_float_eq(out[1].uncopied, 0.25, 0.02, "%g", out[1].uncopied);
}

/* Before the recorder came, a step took 150 us from when it had its batch. Now that is 160 us, behind a wait of 40. */
PD_TEST(gains, a_step_without_the_recorder_has_its_wait_for_a_batch) {
  gains out;
  steps_of((loaded){.wait_ns = 40000, .sync_timing = true, .without_twin = true}, &out);
  cr_assert_float_eq(out.step_ns, 190000, 1000, "%g", out.step_ns);
}
