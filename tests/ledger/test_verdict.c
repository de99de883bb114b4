/* The verdict: what it names and what it withholds. What it suggests is verdict_advice_rows.c's, how sure it is
 * verdict_confidence.c's. */
#include "verdict_rig.h"

/* `steps` of 100 us: `wait` us of them waiting for data, the rest in one kernel but 1 us. */
static void steps_with_wait(analysis_rig *rig, uint64_t steps, int64_t wait_us, bool lost) {
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < steps; s++) {
    const int64_t at = (int64_t)s * 100000, train = at + wait_us * 1000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, train);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, train, at + 100000);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, train, train + 1000, s + 1);
    if (!lost || s) fake_kernel(rig->fake, "k", stream, train + 1000, at + 100000, s + 1);
  }
}

PD_TEST(verdict, names_the_wait_and_what_the_step_takes_without_it) {
  analysis_rig rig;
  rig_begin(&rig);
  steps_with_wait(&rig, 5, 40, false);
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "input_bound");
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 40.0, 1e-9);
  cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 100.0, 1e-9);
  cr_assert_eq(rig_int(table, row, "verdict_step"), 100000);
  cr_assert_eq(rig_int(table, row, "verdict_expected"), 60000);
  cr_assert_str_eq(
      rig_text(table, row, "verdict_evidence"),
      "a step takes 100 us, without it 60.0 us (60.0 us to 60.0 us); the device is busy for 59.0 us of it; the device "
      "waits for a batch: I/O 0 ns, CPU work 0 ns, hand-over 40.0 us a step");
  cr_assert_str_eq(rig_text(table, row, "verdict_next"), "pdhost -o data.resident=device");
  cr_assert(strstr(rig_text(table, row, "verdict_helps"), "mixed precision") ||
            strstr(rig_text(table, row, "verdict_helps"), "workers"));
  cr_assert_str_eq(rig_text(table, row, "verdict_overrides"), "data.resident=device");
  rig_end(&rig);
}

/* Six steps of 100 us with two launches of 20 us each, which take 80 us without the profiler; 0: not known. */
static void launching_steps(analysis_rig *rig, int64_t unprofiled_ns) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    for (uint64_t i = 0; i < 2; i++) {
      const int64_t from = at + (int64_t)i * 50000;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from, from + 20000, s * 2 + i + 1);
      fake_kernel(rig->fake, "k", stream, from + 20000, from + 50000, s * 2 + i + 1);
    }
  }
  rig_finish(rig);
  rig->trace->unprofiled_step_ns = unprofiled_ns;
}

/* Kernels of 3.4 us behind a silence: larger ones would save most, and a graph less than the silence. */
PD_TEST(verdict, launching_is_ranked_by_what_a_graph_saves) {
  enum { LAUNCHES = 200, SILENCE = 700000, EACH = 5000, STEP = SILENCE + LAUNCHES * EACH };
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 8; s++) {
    const int64_t at = (int64_t)s * STEP;
    fake_step(rig.fake, s, at, at + STEP);
    for (uint64_t i = 0; i < LAUNCHES; i++) {
      const int64_t from = at + SILENCE + (int64_t)i * EACH;
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from, from + EACH, s * LAUNCHES + i + 1);
      fake_kernel(rig.fake, "k", stream, from + 1000, from + 4400, s * LAUNCHES + i + 1);
    }
  }
  rig_finish(&rig);
  rig.trace->unprofiled_step_ns = STEP;
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "host_compute");
  cr_assert_not_null(strstr(rig_text(table, row, "verdict_others"), "%, as a CUDA graph "));
  const pd_table *gains = rig_table(&rig, "gains");
  cr_assert_str_eq(rig_text(gains, rig_row_at(gains, 0), "removed_cause"), "host_compute");
  cr_assert_str_eq(rig_text(gains, rig_row_at(gains, 1), "removed_cause"), "launch_bound");
  cr_assert_gt(rig_double(gains, rig_row_at(gains, 1), "gain"), rig_double(gains, rig_row_at(gains, 0), "gain"));
  rig_end(&rig);
}

PD_TEST(verdict, shares_are_of_the_steps_without_what_recording_adds) {
  analysis_rig rig;
  launching_steps(&rig, 80000);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "launch_bound");
  /* 12 kernels of 30 us with 0.05 us of a gap of 1 us each behind the first launch's 20 us and the 3 us that a graph
   * takes to start, of 6 steps of 80 us */
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 17.0, 0.1);
  cr_assert_float_eq((double)rig_int(table, row, "verdict_step"), 80000, 80);
  cr_assert_not_null(
      strstr(rig_text(table, row, "verdict_evidence"), "; recording adds 20.0 us a step, left out here"));
  cr_assert_null(strstr(rig_text(table, row, "verdict_others"), "profiler"));
  const char *note = rig_table(&rig, "gains")->note; /* 12 calls, no operations */
  cr_assert(note &&
            strstr(note, "Recording adds 20.0 us to a step (20.0 to 20.0 by the recorded steps), 10.00 us for"));
  rig_end(&rig);
}

PD_TEST(verdict, the_corrected_step_is_there_for_who_asks_and_says_what_it_is) {
  analysis_rig rig;
  launching_steps(&rig, 80000);
  const pd_table_set *plain = rig_tables(&rig);
  for (uint32_t i = 0; i < plain->count; i++) cr_assert_str_neq(plain->tables[i]->id, "corrected");
  rig.request.corrected = 1;
  const pd_table *table = rig_table(&rig, "corrected");
  cr_assert_eq(table->rows.count, 3);
  const pd_table_row *row = table->rows.data;
  cr_assert_eq(rig_int(table, &row[0], "corrected_time"), 100000);
  cr_assert_str_eq(rig_text(table, &row[1], "corrected_part"), "what recording adds");
  cr_assert_eq(rig_int(table, &row[1], "corrected_time"), 20000);
  cr_assert_float_eq(rig_double(table, &row[1], "corrected_share"), 20, 1e-9);
  cr_assert_str_eq(rig_text(table, &row[2], "corrected_part"), "step, corrected");
  cr_assert_eq(rig_int(table, &row[2], "corrected_time"), 80000);
  cr_assert(strstr(table->note, "Measured: against steps of this run") && strstr(table->note, "10.00 us for each"));
  rig_end(&rig);
}

PD_TEST(verdict, nothing_is_corrected_where_nothing_is_known) {
  analysis_rig rig;
  launching_steps(&rig, 0);
  rig.trace->facts |= PD_FACT_TRAIN; /* of our own recorder, of which no usual cost is guessed */
  rig.request.corrected = 1;
  const pd_table *table = rig_table(&rig, "corrected");
  cr_assert_eq(table->rows.count, 0);
  cr_assert(strstr(table->note, "Nothing is corrected: this window has no steps without the profiler"), "%s",
            table->note);
  rig_end(&rig);
}

PD_TEST(verdict, a_busy_device_has_no_bottleneck) {
  analysis_rig rig;
  rig_begin(&rig);
  steps_with_wait(&rig, 5, 4, false);
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict"), "no bottleneck found: the device is busy 95 % of the step");
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 95.0, 1e-9);
  cr_assert(rig_cell(table, row, "verdict_expected")->missing);
  cr_assert_str_eq(rig_text(table, row, "verdict_others"), "input-bound (4.0 %)");
  rig_end(&rig);
}

PD_TEST(verdict, is_withheld_for_too_few_steps) {
  analysis_rig rig;
  rig_begin(&rig);
  steps_with_wait(&rig, 4, 40, false);
  rig_finish(&rig);
  withheld(&rig, "withheld: 4 active steps are too few, 5 are needed");
  rig_end(&rig);
}

PD_TEST(verdict, is_withheld_for_lost_records) {
  analysis_rig rig;
  rig_begin(&rig);
  steps_with_wait(&rig, 20, 40, true);
  rig_finish(&rig);
  withheld(&rig, "withheld: only 95.00 % of the launches have their device record");
  rig_end(&rig);
}

PD_TEST(verdict, is_withheld_without_device_records) {
  analysis_rig rig;
  rig_begin(&rig);
  steps_with_wait(&rig, 5, 40, false);
  rig_finish(&rig);
  rig.trace->profile = PD_PROFILE_NONE;
  rig.trace->profile_note = "no permission";
  withheld(&rig, "withheld: no device records: no permission");
  rig.trace->profile = PD_PROFILE_EVENTS;
  withheld(&rig, "withheld: no device records: no permission");
  rig_end(&rig);
}

/* 8 steps of the host, 10 us each and one after the other; their kernels, of `kernel_us`, follow each other from
 * `first_us` on. */
static void unsynchronised_steps(analysis_rig *rig, int64_t first_us, int64_t kernel_us) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 8; s++) {
    const int64_t at = (int64_t)s * 10000, kernel = (first_us + (int64_t)s * kernel_us) * 1000;
    fake_step(rig->fake, s, at, at + 10000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 10000);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, s + 1);
    fake_kernel(rig->fake, "k", stream, kernel, kernel + kernel_us * 1000, s + 1);
  }
  rig_finish(rig);
}

/* Where the host runs ahead a step ends when the device has done its work. */
PD_TEST(verdict, a_host_that_runs_ahead_of_a_busy_device_has_no_bottleneck) {
  analysis_rig rig;
  unsynchronised_steps(&rig, 60, 10); /* 20 of 80 us within the host's steps */
  const pd_table *table;
  rig.trace->sync_timing = 0;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 100.0, 1e-9);
  cr_assert_eq(rig_int(table, row, "verdict_step"), 10000);
  rig_end(&rig);
}

PD_TEST(verdict, what_happens_in_one_step_alone_is_not_named) {
  analysis_rig rig;
  unsynchronised_steps(&rig, 20, 10); /* idle in the first two steps, busy in all others */
  const pd_table *table;
  rig.trace->sync_timing = 0;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  rig_end(&rig);
}

/* 12 steps of 1 ms, of which a wait for data takes `wait_ns`, on a GPU or on a device of threads. */
static void expect_of_wait(int64_t wait_ns, bool is_cuda, const char *cause) {
  analysis_rig rig;
  pd_device_props device = *fake_device();
  const pd_table *table;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 12; s++) {
    const int64_t at = (int64_t)s * 1000000, train = at + wait_ns;
    fake_step(rig.fake, s, at, at + 1000000);
    fake_range(rig.fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, train);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, train, train + 1000, s + 1);
    fake_kernel(rig.fake, "k", stream, train + 1000, at + 1000000, s + 1);
  }
  rig_finish(&rig);
  device.is_cuda = is_cuda;
  rig.trace->device = &device;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause, "%lld ns", (long long)wait_ns);
  rig_end(&rig);
}

PD_TEST(verdict, a_cause_is_named_from_its_limit_on) {
  expect_of_wait(49999, true, "none");
  expect_of_wait(50000, true, "input_bound");
  /* There a record behind another starts some microseconds later, of which the replay knows no figure here. */
  expect_of_wait(90000, false, "none");
  expect_of_wait(130000, false, "input_bound");
}

/* 12 steps: 40 us of a kernel, a blocking call, then 40 us of one whose launch comes `behind_us` after the call. */
static void expect_blocking(int64_t behind_us, const char *cause) {
  analysis_rig rig;
  const pd_table *table;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  const int64_t length = (84 + behind_us) * 1000;
  for (uint64_t s = 0; s < 12; s++) {
    const int64_t at = (int64_t)s * length, again = at + 42000 + behind_us * 1000;
    fake_step(rig.fake, s, at, at + length);
    fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, at, at + length);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, 2 * s + 1);
    fake_kernel(rig.fake, "k", stream, at + 1000, at + 41000, 2 * s + 1);
    fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", 0, at + 1000, at + 42000, 1000 + 2 * s);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, again, again + 1000, 2 * s + 2);
    fake_kernel(rig.fake, "k", stream, again + 1000, again + 41000, 2 * s + 2);
    fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", 0, again + 1000, at + length, 1001 + 2 * s);
  }
  rig_finish(&rig);
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause);
  rig_end(&rig);
}

PD_TEST(verdict, a_blocking_call_that_drains_the_device_is_named) { expect_blocking(20, "forced_sync"); }
PD_TEST(verdict, one_that_costs_next_to_nothing_is_not) { expect_blocking(0, "none"); }

/* Five steps in which a copy keeps the device busy, and a launch takes as long since the queue is full: without the
 * copies launching would cost the step, but launching alone saves nothing. */
PD_TEST(verdict, launching_beside_a_busy_device_is_not_named) {
  analysis_rig rig;
  const pd_table *table;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, at, at + 1000, 2 * s + 1);
    fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 4096, stream, at + 1000, at + 97000, 2 * s + 1);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 2000, at + 96000, 2 * s + 2);
    fake_kernel(rig.fake, "k", stream, at + 98000, at + 99000, 2 * s + 2);
  }
  rig_finish(&rig);
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  cr_assert_str_eq(rig_text(table, row, "verdict"),
                   "no bottleneck found: the device is busy 97 % of the step, 96 % of it with copies alone");
  cr_assert_not_null(strstr(rig_text(table, row, "verdict_helps"), "copy fewer bytes"));
  rig_end(&rig);
}

/* Five steps of `passes` passes, whose kernels fill a quarter of the device for 10 us each, the first one for longer.
 */
static void steps_of_passes(analysis_rig *rig, uint64_t passes, float waves, int64_t longer) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t length = (int64_t)passes * 10000 + longer, at = (int64_t)s * length;
    fake_step(rig->fake, s, at, at + length);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + length);
    for (uint64_t p = 0; p < passes; p++) {
      const int64_t from = at + (int64_t)p * 10000 + (p ? longer : 0);
      fake_range(rig->fake, PD_RANGE_USER, "forward", 0, from, from + 10)->part = PD_PART_FORWARD;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from, from + 10, 1000 + s * passes + p);
      fake_kernel(rig->fake, "f", stream, from, from, 1000 + s * passes + p)->detail.u.kernel.waves = waves;
      fake_range(rig->fake, PD_RANGE_OP, "backward", 0, from + 20, from + 100)->part = PD_PART_BACKWARD;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from + 30, from + 40, s * passes + p + 1);
      fake_kernel(rig->fake, "k", stream, from, from + 10000 + (p ? 0 : longer), s * passes + p + 1)
          ->detail.u.kernel.waves = waves;
    }
  }
  rig_finish(rig);
}

static void expect_passes(uint64_t passes, float waves, const char *cause, int64_t cost) {
  analysis_rig rig;
  steps_of_passes(&rig, passes, waves, 0);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause);
  RIG_INT(&rig, "ledger", "Cost of more passes than one", "total", 5 * cost);
  rig_end(&rig);
}

/* A kernel of 10 us has 5 as its fixed part, once for all passes; what is left of 8 fits into 2 waves, of 2 into 1. */
PD_TEST(verdict, small_passes_cost_what_the_device_was_empty) {
  expect_passes(8, 0.25F, "small_batch", 80000 - 5000 - 2 * 5000);
}
PD_TEST(verdict, no_more_than_one_pass_would_save) { expect_passes(2, 0.25F, "small_batch", 10000); }
PD_TEST(verdict, passes_of_half_empty_last_waves) { expect_passes(8, 1.5F, "small_batch", 80000 - 5000 - 12 * 2500); }
PD_TEST(verdict, passes_that_fill_the_device_cost_their_fixed_part) {
  expect_passes(8, 2, "small_batch", 80000 - 5000 - 8 * 5000);
}
/* 8 passes of 10 us become one of 15 us if more samples are more blocks, and of 45 us if each block takes longer: half
 * of the way from one to the other where the blocks fill the device. Two waves have a quarter of the fixed part,
 * and the further passes take 0.8 of the rest of theirs. */
PD_TEST(verdict, a_grid_with_room_leaves_open_how_long_more_samples_take) {
  for (float waves = 0.25F; waves < 3; waves += 1.75F) {
    analysis_rig rig;
    steps_of_passes(&rig, 8, waves, 0);
    const pd_table *table;
    const pd_table_row *row = verdict_row(&rig, &table);
    const char *without =
        waves < 1 ? "without it 30.0 us (30.0 us to 45.0 us)" : "without it 59.0 us (59.0 us to 71.2 us)";
    cr_assert(strstr(rig_text(table, row, "verdict_evidence"), without), "%s",
              rig_text(table, row, "verdict_evidence"));
    rig_end(&rig);
  }
}

/* 8 passes, the first one of 90 us and the others of 10: all of them take 160 - 7 * 5 us as one. */
PD_TEST(verdict, the_first_of_the_passes_does_not_stand_for_the_others) {
  analysis_rig rig;
  steps_of_passes(&rig, 8, -1, 80000);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  const char *said = rig_text(table, row, "verdict_evidence");
  cr_assert(strstr(said, "without it 125 us"), "%s", said);
  rig_end(&rig);
}

PD_TEST(verdict, one_small_pass_is_no_small_batch) { expect_passes(1, 0.25F, "none", 0); }
PD_TEST(verdict, a_device_that_does_not_say_is_taken_as_full) {
  expect_passes(8, -1, "small_batch", 80000 - 5000 - 8 * 5000);
}

/* The host is done with each step after 50 us, and the device with its kernel of 99 us only then, as in a loop that
 * never waits. */
PD_TEST(verdict, says_that_a_step_is_the_devices_where_the_host_runs_ahead) {
  for (int64_t host_us = 50; host_us <= 100; host_us += 50) {
    analysis_rig rig;
    const pd_table *table;
    rig_begin(&rig);
    const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
    for (uint64_t s = 0; s < 6; s++) {
      const int64_t at = (int64_t)s * host_us * 1000, run = 5000 + (int64_t)s * 100000;
      fake_step(rig.fake, s, at, at + host_us * 1000);
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 2000, s + 1);
      fake_kernel(rig.fake, "k", stream, run, run + 99000, s + 1);
    }
    rig_finish(&rig);
    rig.trace->sync_timing = 0;
    const pd_table_row *row = verdict_row(&rig, &table);
    const char *text = rig_text(table, row, "verdict_evidence");
    cr_assert(strstr(text, "a step takes 10"), "%s", text); /* 100 us, and the first one longer */
    cr_assert_eq(!!strstr(text, "that is the pace of the device, which the host runs ahead of"), host_us == 50, "%s",
                 text);
    rig_end(&rig);
  }
}
