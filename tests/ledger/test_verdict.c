/* The verdict: what it names, what it withholds, and that it fits its figures. */
#include "ledger/verdict.h"
#include "analysis_rig.h"
#include "ledger/cures.h"

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

static const pd_table_row *verdict_row(const analysis_rig *rig, const pd_table **table) {
  *table = rig_table(rig, "verdict");
  cr_assert_eq((*table)->rows.count, 1);
  const pd_table_row *row = rig_row_at(*table, 0);
  cr_assert_eq(row->flags, PD_ROW_RECORD);
  return row;
}

static void withheld(analysis_rig *rig, const char *reason) {
  const pd_table *table;
  const pd_table_row *row = verdict_row(rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict"), reason);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "withheld");
  cr_assert(rig_cell(table, row, "verdict_share")->missing);
  cr_assert(rig_cell(table, row, "verdict_next")->missing);
  cr_assert_gt(strlen(rig_text(table, row, "verdict_helps")), 20);
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

PD_TEST(verdict, shares_are_of_the_steps_without_what_recording_adds) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    for (uint64_t i = 0; i < 2; i++) {
      const int64_t from = at + (int64_t)i * 50000;
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from, from + 20000, s * 2 + i + 1);
      fake_kernel(rig.fake, "k", stream, from + 20000, from + 50000, s * 2 + i + 1);
    }
  }
  rig_finish(&rig);
  rig.trace->unprofiled_step_ns = 80000;
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "launch_bound");
  cr_assert_float_eq(
      rig_double(table, row, "verdict_share"), 19.7,
      0.1); /* 12 kernels of 30 us with half a gap of 1 us each behind the first launch's 20 us, of 6 steps of 80 us */
  cr_assert_float_eq((double)rig_int(table, row, "verdict_step"), 80000, 80);
  cr_assert_not_null(
      strstr(rig_text(table, row, "verdict_evidence"), "; recording adds 20.0 us a step, left out here"));
  cr_assert_null(strstr(rig_text(table, row, "verdict_not"), "profiler"));
  const char *note = rig_table(&rig, "gains")->note; /* 12 calls, no operations */
  cr_assert(note &&
            strstr(note, "Recording adds 20.0 us to a step (20.0 to 20.0 by the recorded steps), 10.00 us for"));
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
  cr_assert_str_eq(rig_text(table, row, "verdict_not"), "input-bound (4.0 %)");
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

/* ---- what to try ---- */

/* A worker makes a batch of `batch_us`, of which it reads `read_us`, for each of five steps of 60 us of work. */
static void loaded_steps(analysis_rig *rig, int64_t batch_us, int64_t read_us, uint32_t cores) {
  rig_begin(rig);
  const uint32_t worker = fake_thread(rig->fake, 4243, "pdhost loader 0"), stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t length = (batch_us + 60) * 1000, at = (int64_t)s * length, train = at + batch_us * 1000;
    fake_step(rig->fake, s, at, at + length);
    fake_range(rig->fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, train);
    fake_range(rig->fake, PD_RANGE_WORKER, "DataLoader worker: batch", worker, at, train);
    fake_range(rig->fake, PD_RANGE_WORKER, "DataLoader worker: read", worker, at, at + read_us * 1000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, train, at + length);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, train, train + 1000, s + 1);
    fake_kernel(rig->fake, "k", stream, train + 1000, at + length, s + 1);
  }
  rig_finish(rig);
  analysis_close(rig->analysis);
  const analysis_context context = {
      .device = fake_device(), .cores = cores, .command_line = "pdhost -c x.ini", .with_flops = true};
  cr_assert_eq(analysis_open(&context, &rig->analysis), PD_OK);
}

static void expect_next(analysis_rig *rig, const char *cause, const char *overrides, const char *next) {
  const pd_table *table;
  const pd_table_row *row = verdict_row(rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause);
  cr_assert_str_eq(rig_text(table, row, "verdict_next"), next);
  if (overrides)
    cr_assert_str_eq(rig_text(table, row, "verdict_overrides"), overrides);
  else
    cr_assert(rig_cell(table, row, "verdict_overrides")->missing);
  rig_end(rig);
}

PD_TEST(verdict, as_many_workers_as_reading_needs) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 560, 2); /* 12.5 of them would just do */
  expect_next(&rig, "input_bound", "data.num_workers=15 data.prefetch_factor=4",
              "pdhost -c x.ini --num_workers 15 --prefetch_factor 4");
}

PD_TEST(verdict, workers_without_a_core_each_are_no_cure) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 100, 2); /* 500 us of work in 60 us */
  expect_next(&rig, "input_bound", "data.resident=device", "pdhost -c x.ini -o data.resident=device");
}

PD_TEST(verdict, with_cores_they_are) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 100, 12);
  expect_next(&rig, "input_bound", "data.num_workers=15 data.prefetch_factor=4",
              "pdhost -c x.ini --num_workers 15 --prefetch_factor 4");
}

PD_TEST(verdict, nor_are_hundreds_of_workers) {
  analysis_rig rig;
  loaded_steps(&rig, 60000, 59990, 64);
  expect_next(&rig, "input_bound", "data.resident=device", "pdhost -c x.ini -o data.resident=device");
}

static void judge_with(analysis_rig *rig, const analysis_context *context) {
  analysis_close(rig->analysis);
  cr_assert_eq(analysis_open(context, &rig->analysis), PD_OK);
}

PD_TEST(verdict, nor_as_many_workers_as_there_are) {
  for (int64_t workers = 14; workers <= 15; workers++) {
    analysis_rig rig;
    loaded_steps(&rig, 600, 560, 2);
    judge_with(&rig, &(analysis_context){.device = fake_device(), .cores = 2, .num_workers = workers});
    const bool are_more = workers < 15;
    expect_next(&rig, "input_bound", are_more ? "data.num_workers=15 data.prefetch_factor=4" : "data.resident=device",
                are_more ? "pdhost --num_workers 15 --prefetch_factor 4" : "pdhost -o data.resident=device");
  }
}

/* Five steps of 100 us, half of them idle while the host is between launches. */
static void steps_of_launches(analysis_rig *rig) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 50000, s + 1);
    fake_kernel(rig->fake, "k", stream, at + 50000, at + 100000, s + 1);
  }
  rig_finish(rig);
}

/* Five steps of 100 us in which one owner has 60: `call`, a copy of memory `from`, or nothing but a kernel. */
static void steps_of(analysis_rig *rig, pd_api_class call, pd_memory_kind from) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    if (call == PD_API_MEMCPY) {
      fake_call(rig->fake, call, "cudaMemcpyAsync", 0, at, at + 1000, 2 * s + 1);
      fake_copy(rig->fake, from, PD_MEMORY_DEVICE, 4096, stream, at + 1000, at + 61000, 2 * s + 1);
    }
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 1000, at + 2000, 2 * s + 2);
    fake_kernel(rig->fake, "k", stream, at + (call ? 61000 : 2000), at + 100000, 2 * s + 2);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, at + 2000, at + 100000, 1000 + s);
  }
  rig_finish(rig);
}

/* Six steps of 100 us, a tenth of each a pageable copy that the host waits for; in one of them the host first does
 * something else for `late_us`. */
static void steps_with_one_late(analysis_rig *rig, int64_t late_us) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  int64_t at = 0;
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t work = at + (s == 3 ? late_us * 1000 : 0), end = work + 100000;
    fake_step(rig->fake, s, at, end);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, end);
    fake_call(rig->fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, work, work + 10000, 2 * s + 1);
    fake_copy(rig->fake, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 4096, stream, work + 1000, work + 10000, 2 * s + 1);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, work + 10000, work + 11000, 2 * s + 2);
    fake_kernel(rig->fake, "k", stream, work + 11000, end, 2 * s + 2);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, work + 11000, end, 1000 + s);
    at = end;
  }
  rig_finish(rig);
}

/* One late step is the largest gain of most resamples and can itself not be named: then nothing is. */
PD_TEST(verdict, a_cause_that_few_resamples_have_is_withheld) {
  analysis_rig rig;
  steps_with_one_late(&rig, 300);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  const char *text = rig_text(table, row, "verdict");
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "withheld");
  cr_assert(strstr(text, "withheld: pageable copies ("), "%s", text);
  cr_assert(strstr(text, " or launch-bound ("), "%s", text);
  rig_end(&rig);
}

PD_TEST(verdict, what_some_resamples_have_is_not_ruled_out) {
  analysis_rig rig;
  steps_with_one_late(&rig, 31);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "pageable_copy");
  cr_assert_null(strstr(rig_text(table, row, "verdict_not"), "launch-bound"));
  cr_assert(strstr(rig_text(table, row, "verdict_evidence"), " % of the resamples say launch-bound"), "%s",
            rig_text(table, row, "verdict_evidence"));
  rig_end(&rig);
}

/* A kernel of another stream begins when the first one ends, though nothing says why: together they fill the device,
 * which has no time to save. */
PD_TEST(verdict, a_delay_beside_a_busy_device_is_not_named) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t one = fake_stream(rig.fake, 0, 1, 7), other = fake_stream(rig.fake, 0, 2, 8);
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, 2 * s + 1);
    fake_kernel(rig.fake, "k", one, at + 1000, at + 50000, 2 * s + 1);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 1000, at + 2000, 2 * s + 2);
    fake_kernel(rig.fake, "l", other, at + 50000, at + 100000, 2 * s + 2);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, at + 2000, at + 100000, 1000 + s);
  }
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_neq(rig_text(table, row, "verdict_cause"), "device_side");
  rig_end(&rig);
}

/* What is suggested is what the run could have and does not, and what the replay predicts. */
PD_TEST(verdict, nothing_that_the_run_cannot_have_is_suggested) {
  static const struct {
    const char *cause;
    pd_offers offers;
    const char *settings, *next;
  } cases[] = {
      {"none", PD_OFFER_AMP | PD_OFFER_CHANNELS_LAST, NULL, "pdhost -o profile.with_stack=true"},
      {"none", 0, NULL, "pdhost -o profile.with_stack=true"},
      {"launch_bound", PD_OFFER_CUDA_GRAPH | PD_OFFER_FUSED, "train.cuda_graph=true",
       "pdhost -o train.cuda_graph=true"},
      {"launch_bound", PD_OFFER_FUSED, NULL, "pdhost -o profile.with_stack=true"},
      {"launch_bound", PD_OFFER_AMP, NULL, "pdhost -o profile.with_stack=true"},
      {"pageable_copy", PD_OFFER_PIN_MEMORY | PD_OFFER_PREFETCH, "data.pin_memory=true data.prefetch_to_device=true",
       "pdhost --pin_memory -o data.prefetch_to_device=true"},
      {"pageable_copy", PD_OFFER_PIN_MEMORY, NULL, "pdhost -o profile.with_stack=true"},
      {"pageable_copy", PD_OFFER_PREFETCH, NULL, "pdhost -o profile.with_stack=true"},
      {"pinned_copy", PD_OFFER_PREFETCH, "data.prefetch_to_device=true", "pdhost -o data.prefetch_to_device=true"},
      {"pinned_copy", PD_OFFER_PIN_MEMORY, NULL, "pdhost -o profile.with_stack=true"},
      {"input_bound", PD_OFFER_RESIDENT, "data.resident=device", "pdhost -o data.resident=device"},
      {"input_bound", PD_OFFER_FUSED, NULL, "pdhost -o profile.with_stack=true"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    analysis_rig rig;
    const char *cause = cases[i].cause;
    if (!strcmp(cause, "input_bound"))
      loaded_steps(&rig, 600, 100, 2);
    else if (!strcmp(cause, "launch_bound"))
      steps_of_launches(&rig);
    else if (!strcmp(cause, "none"))
      steps_of(&rig, 0, 0);
    else
      steps_of(&rig, PD_API_MEMCPY, !strcmp(cause, "pinned_copy") ? PD_MEMORY_PINNED : PD_MEMORY_PAGEABLE);
    judge_with(&rig,
               &(analysis_context){.device = fake_device(), .cores = 2, .offers = PD_OFFER_KNOWN | cases[i].offers});
    expect_next(&rig, cause, cases[i].settings, cases[i].next);
  }
}

/* Five steps of 100 us; for 60 of them a kernel of stream 8 runs, and that of stream 7 waits. */
static void waiting_steps(analysis_rig *rig, const pd_cure *cures) {
  rig_begin(rig);
  const uint32_t own = fake_stream(rig->fake, 0, 1, 7), other = fake_stream(rig->fake, 0, 1, 8);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, 2 * s + 1);
    fake_call(rig->fake, PD_API_OTHER, "cudaEventRecord", 0, at + 1000, at + 1000, 0);
    fake_call(rig->fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", 0, at + 1000, at + 2000, 0);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 2000, at + 3000, 2 * s + 2);
    fake_kernel(rig->fake, "side", other, at + 3000, at + 43000, 2 * s + 1);
    fake_kernel(rig->fake, "k", own, at + 43000, at + 100000, 2 * s + 2);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, at + 3000, at + 100000, 1000 + s);
  }
  rig_finish(rig);
  analysis_close(rig->analysis);
  const analysis_context context = {.device = fake_device(), .cores = 2, .cures = cures};
  cr_assert_eq(analysis_open(&context, &rig->analysis), PD_OK);
}

PD_TEST(verdict, names_streams_that_wait_and_the_scenarios_cure) {
  static const pd_cure cures[] = {
      {"forced_sync", "scenario.x=1"}, {"serial_streams", "scenario.serial=false scenario.y=2"}, {NULL, NULL}};
  analysis_rig rig;
  waiting_steps(&rig, cures);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 38.0, 1e-9); /* 2 us of calls and 3 of latency, then 57 */
  cr_assert_eq(rig_int(table, row, "verdict_expected"), 62000);
  cr_assert_not_null(strstr(rig_text(table, row, "verdict_evidence"), "of one stream run for 40.0 us a step while"));
  expect_next(&rig, "serial_streams", "scenario.serial=false scenario.y=2",
              "pdhost -o scenario.serial=false -o scenario.y=2");
}

PD_TEST(verdict, without_a_cure_it_looks_closer) {
  analysis_rig rig;
  waiting_steps(&rig, NULL);
  expect_next(&rig, "serial_streams", NULL, "pdhost -o profile.with_stack=true");
}

/* Five steps of `passes` passes, whose kernels fill a quarter of the device for 10 us each. */
static void steps_of_passes(analysis_rig *rig, uint64_t passes, float waves) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t length = (int64_t)passes * 10000, at = (int64_t)s * length;
    fake_step(rig->fake, s, at, at + length);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + length);
    for (uint64_t p = 0; p < passes; p++) {
      const int64_t from = at + (int64_t)p * 10000;
      fake_range(rig->fake, PD_RANGE_USER, "forward", 0, from, from + 10)->part = PD_PART_FORWARD;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from, from + 10, 1000 + s * passes + p);
      fake_kernel(rig->fake, "f", stream, from, from, 1000 + s * passes + p)->detail.u.kernel.waves = waves;
      fake_range(rig->fake, PD_RANGE_OP, "backward", 0, from + 20, from + 100)->part = PD_PART_BACKWARD;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from + 30, from + 40, s * passes + p + 1);
      fake_kernel(rig->fake, "k", stream, from, from + 10000, s * passes + p + 1)->detail.u.kernel.waves = waves;
    }
  }
  rig_finish(rig);
}

static void expect_passes(uint64_t passes, float waves, const char *cause, int64_t cost) {
  analysis_rig rig;
  steps_of_passes(&rig, passes, waves);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause);
  RIG_INT(&rig, "ledger", "Cost of more passes than one", "total", 5 * cost);
  rig_end(&rig);
}

/* Of each kernel of 10 us 5 are its fixed part, once for all passes; what is left of 8 fits into 2 waves, of 2 into 1.
 */
PD_TEST(verdict, small_passes_cost_what_the_device_was_empty) {
  expect_passes(8, 0.25F, "small_batch", 80000 - 5000 - 2 * 5000);
}
PD_TEST(verdict, no_more_than_one_pass_would_save) { expect_passes(2, 0.25F, "small_batch", 10000); }
PD_TEST(verdict, passes_of_half_empty_last_waves) { expect_passes(8, 1.5F, "small_batch", 80000 - 5000 - 12 * 2500); }
PD_TEST(verdict, passes_that_fill_the_device_cost_their_fixed_part) {
  expect_passes(8, 2, "small_batch", 80000 - 5000 - 8 * 5000);
}
PD_TEST(verdict, one_small_pass_is_no_small_batch) { expect_passes(1, 0.25F, "none", 0); }
PD_TEST(verdict, a_device_that_does_not_say_is_taken_as_full) {
  expect_passes(8, -1, "small_batch", 80000 - 5000 - 8 * 5000);
}

/* Steps of 100 us of work, some of them behind a wait. */
static const pd_table_row *steps_with_waits(analysis_rig *rig, const int64_t *waits, uint64_t count,
                                            const pd_table **table) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  int64_t at = 0;
  for (uint64_t s = 0; s < count; s++) {
    const int64_t train = at + waits[s], end = train + 100000;
    fake_step(rig->fake, s, at, end);
    fake_range(rig->fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, train);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, train, end);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, train, train + 1000, s + 1);
    fake_kernel(rig->fake, "k", stream, train + 1000, end, s + 1);
    at = end;
  }
  rig_finish(rig);
  return verdict_row(rig, table);
}

PD_TEST(verdict, is_only_possible_where_other_programs_took_the_processors) {
  analysis_rig rig;
  const pd_table *table;
  int64_t waits[20];
  for (int i = 0; i < 20; i++) waits[i] = 100000;
  const pd_table_row *row = steps_with_waits(&rig, waits, 20, &table);
  cr_assert_eq(strncmp(rig_text(table, row, "verdict"), "input-bound", 11), 0);
  analysis_disturbed(rig.analysis, "other programs kept 1.5 of 2 cores busy", NULL);
  analysis_forget(rig.analysis, rig.trace);
  row = verdict_row(&rig, &table);
  cr_assert_eq(strncmp(rig_text(table, row, "verdict"), "possibly input-bound", 20), 0);
  cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 100.0, 1e-9);
  rig_end(&rig);
}

/* Ten launches a step, one every 20 us, each with a kernel of 14 us behind it: launching costs a step of 160 us a
 * sixteenth if recording took 4 us of each launch, and nothing if it took 6 us. */
PD_TEST(verdict, is_only_possible_where_another_cost_of_recording_gives_another) {
  for (int64_t cost_ns = 0; cost_ns <= 4000; cost_ns += 4000) {
    analysis_rig rig;
    const pd_table *table;
    rig_begin(&rig);
    const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
    for (uint64_t i = 0; i < 80; i++) {
      const int64_t at = (int64_t)i * 20000;
      if (i % 10 == 0) fake_step(rig.fake, i / 10, at, at + 200000);
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 19000, at + 20000, i + 1);
      fake_kernel(rig.fake, "k", stream, at + 20000, at + 34000, i + 1);
    }
    rig_finish(&rig);
    rig.trace->facts |= PD_FACT_RECORDER_COST;
    rig.trace->record_cost_ns = cost_ns;
    analysis_forget(rig.analysis, rig.trace);
    const pd_table_row *row = verdict_row(&rig, &table);
    cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "launch_bound");
    cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 100.0, 1e-9);
    cr_assert_eq(strncmp(rig_text(table, row, "verdict"), "possibly", 8) == 0, cost_ns > 0);
    cr_assert_eq(!!strstr(rig_text(table, row, "verdict_evidence"), "close: if recording cost half or 1.5"),
                 cost_ns > 0);
    rig_end(&rig);
  }
}

/* A device that is idle while the measurement itself waits at the end of the step, which no cause takes away. */
PD_TEST(verdict, an_idle_device_is_not_said_to_be_busy) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, s + 1);
    fake_kernel(rig.fake, "k", stream, at + 1000, at + 10000, s + 1);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, at + 1500, at + 99000, 0);
  }
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict"), "no bottleneck found: the device is busy 9 % of the step");
  cr_assert_str_eq(rig_text(table, row, "verdict_helps"), VERDICT_IDLE_HELPS);
  rig_end(&rig);
}

PD_TEST(verdict, a_stall_in_one_step_is_no_bottleneck) {
  analysis_rig rig;
  const pd_table *table;
  const pd_table_row *row = steps_with_waits(&rig, (int64_t[20]){[3] = 1000000}, 20, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  /* A draw takes blocks of 8 neighbours, as many as a loader may have workers: two whole ones and half of one. */
  cr_assert_lt(rig_double(table, row, "verdict_repeatable"), 50.0);
  cr_assert_not_null(strstr(rig_text(table, row, "verdict"), "possibly no bottleneck found"));
  rig_end(&rig);
}

PD_TEST(verdict, waits_that_come_in_bursts_of_the_workers_are_sure) {
  analysis_rig rig;
  const pd_table *table;
  const pd_table_row *row = steps_with_waits(&rig, (int64_t[12]){[1] = 400000, [5] = 400000, [9] = 400000}, 12, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "input_bound");
  cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 100.0, 1e-9);
  cr_assert_str_eq(rig_text(table, row, "verdict"), "input-bound: the device waits for data");
  rig_end(&rig);
}

/* Steps whose device record starts where nothing in the trace lets it: the replay does not find it there. */
PD_TEST(verdict, is_withheld_where_the_steps_overlap) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 8; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, s + 1);
    /* On one stream each kernel starts before the one before it ends. */
    fake_kernel(rig.fake, "k", stream, at + 1000, at + 181000, s + 1);
  }
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "withheld");
  cr_assert_not_null(strstr(rig_text(table, row, "verdict"), "replayed with nothing removed"));
  rig_end(&rig);
}

/* One table says what takes a cause away; what no replay predicts stands behind the rest, with the reason. */
PD_TEST(verdict, a_cause_has_all_its_cures) {
  static const pd_cure own[] = {{"pageable_copy", "scenario.copies=0"}, {NULL, NULL}};
  arena memory = {0};
  const verdict_setting setting = {.cures = own,
                                   .offers = PD_OFFER_KNOWN | PD_OFFER_CUDA_GRAPH | PD_OFFER_FUSED |
                                             PD_OFFER_PIN_MEMORY | PD_OFFER_PREFETCH | PD_OFFER_RESIDENT,
                                   .arena = &memory};
  cure found[CURES_MOST];
  cr_assert_eq(cures_find(&setting, VERDICT_launch_bound, found), 2);
  cr_assert_str_eq(found[0].settings, "train.cuda_graph=true");
  cr_assert_null(found[0].unpredicted);
  cr_assert_str_eq(found[1].settings, "train.fused=true");
  cr_assert_not_null(strstr(found[1].unpredicted, "no replay can tell"));
  cr_assert_eq(cures_find(&setting, VERDICT_pageable_copy, found), 2);
  cr_assert_str_eq(found[0].settings, "scenario.copies=0");
  cr_assert_str_eq(found[1].settings, "data.pin_memory=true data.prefetch_to_device=true");
  cr_assert_eq(cures_find(&setting, VERDICT_input_bound, found), 1); /* before anything was recorded */
  cr_assert_str_eq(found[0].settings, "data.resident=device");
  cr_assert_eq(cures_find(&setting, VERDICT_device_side, found), 0);
  arena_free(&memory);
}
