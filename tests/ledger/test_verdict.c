/* The verdict: what it names, what it withholds, and that it fits its figures. */
#include "ledger/verdict.h"
#include "ledger/verdict_repeat.h"
#include "analysis_rig.h"

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
      "the device waits 40.0 us per step for a batch: I/O 0 ns, CPU work 0 ns, hand-over 40.0 us; what recording "
      "adds is not known: there were no three steps before it");
  cr_assert_str_eq(rig_text(table, row, "verdict_next"), "pdhost -o data.resident=device");
  cr_assert_str_eq(rig_text(table, row, "verdict_overrides"), "data.resident=device");
  cr_assert_not_null(strstr(rig_text(table, row, "verdict_not"), "kernels take 59.0 %"));
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
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 25.0, 1e-9); /* 20 of 80 us */
  cr_assert_eq(rig_int(table, row, "verdict_step"), 80000);
  cr_assert_not_null(
      strstr(rig_text(table, row, "verdict_evidence"), "; recording adds 20.0 us a step, left out here"));
  cr_assert_null(strstr(rig_text(table, row, "verdict_not"), "profiler"));
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

PD_TEST(verdict, is_withheld_where_the_device_works_after_the_steps) {
  analysis_rig rig;
  unsynchronised_steps(&rig, 60, 10); /* 20 of 80 us within the steps */
  const pd_table *table;
  const pd_table_row *synchronised = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, synchronised, "verdict_cause"), "device_side");
  analysis_forget(rig.analysis, rig.trace);
  rig.trace->sync_timing = 0;
  withheld(&rig, "withheld: the host runs ahead, and the device does 75.0 % of the steps' work outside of them; set "
                 "run.sync_timing = true");
  rig_end(&rig);
}

PD_TEST(verdict, is_withheld_where_the_device_begins_late) {
  analysis_rig rig;
  unsynchronised_steps(&rig, 31, 6); /* all but the last kernels within the steps */
  const pd_table *table;
  const pd_table_row *synchronised = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, synchronised, "verdict_cause"), "device_side");
  analysis_forget(rig.analysis, rig.trace);
  rig.trace->sync_timing = 0;
  withheld(&rig, "withheld: only 4 of 8 active steps begin after the device has begun with their work, 5 are needed; "
                 "set run.sync_timing = true or schedule.active higher");
  rig_end(&rig);
}

PD_TEST(verdict, rests_on_the_steps_after_the_device_has_begun) {
  analysis_rig rig;
  unsynchronised_steps(&rig, 20, 10); /* idle in the first two steps, busy in all others */
  const pd_table *table;
  const pd_table_row *synchronised = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, synchronised, "verdict_cause"), "device_side");
  analysis_forget(rig.analysis, rig.trace);
  rig.trace->sync_timing = 0;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 100.0, 1e-9);
  cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 100.0, 1e-9);
  rig_end(&rig);
}

PD_TEST(verdict, thresholds) {
  const verdict_basis plain = {.is_cuda = true}, blocking = {.blocking = true, .is_cuda = true}, threads = {0};
  int64_t rows[LEDGER_CAUSE_COUNT] = {[LEDGER_compute] = 80000};
  rows[LEDGER_launch] = 4999;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_none);
  rows[LEDGER_launch_gap] = 1; /* the causes' parts count together */
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_launch_bound);
  rows[LEDGER_host_compute] = 5001;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_host_compute);
  rows[LEDGER_host_compute] = 9999; /* the limit of a device of threads is another one */
  cr_assert_eq(verdict_of(rows, 100000, &threads), VERDICT_none);
  rows[LEDGER_host_compute]++;
  cr_assert_eq(verdict_of(rows, 100000, &threads), VERDICT_host_compute);
  rows[LEDGER_host_compute] = rows[LEDGER_launch] = 0;
  rows[LEDGER_forced_sync] = 100;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_none);
  cr_assert_eq(verdict_of(rows, 100000, &blocking), VERDICT_forced_sync);
  rows[LEDGER_forced_sync] = 99;
  cr_assert_eq(verdict_of(rows, 100000, &blocking), VERDICT_none);
  const verdict_basis passes = {.passes = 4, .is_cuda = true};
  rows[LEDGER_passes] = 1996;
  rows[LEDGER_launch_gap] = 4; /* one pass would need a quarter of it */
  cr_assert_eq(verdict_of(rows, 100000, &passes), VERDICT_none);
  rows[LEDGER_passes]++;
  cr_assert_eq(verdict_of(rows, 100000, &passes), VERDICT_small_batch);
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_none);
  rows[LEDGER_passes] = rows[LEDGER_launch_gap] = 0;
  rows[LEDGER_profiler] = 50000; /* of no part in the step's own time, and named where nothing else is */
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_profiler);
  rows[LEDGER_copy_late] = 2500;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_input_bound);
  rows[LEDGER_copy_late] = rows[LEDGER_profiler] = 0;
  rows[LEDGER_device_side] = 30000;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_device_side);
  cr_assert_eq(verdict_of(rows, 100000, &threads), VERDICT_none);
  rows[LEDGER_measurement] = 90000; /* never a bottleneck, nor part of the steps' own time */
  rows[LEDGER_device_side] = 0;
  rows[LEDGER_launch_gap] = 0;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_none);
  rows[LEDGER_input_io] = 1000;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_input_bound);
}

/* 12 steps of 100 us in one kernel, that begins behind `calls` blocking calls in the first. */
static void expect_blocking(uint64_t steps_with_one, uint64_t calls, const char *cause) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 12; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    for (uint64_t c = 0; s < steps_with_one && c < calls; c++)
      fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", 0, at + (int64_t)c * 100, at + (int64_t)c * 100 + 100,
                1000 + s * calls + c);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 1300, at + 1500, s + 1);
    fake_kernel(rig.fake, "k", stream, at + 1500, at + 100000, s + 1);
  }
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause);
  rig_end(&rig);
}

PD_TEST(verdict, a_blocking_call_in_every_step_is_counted) { expect_blocking(12, 1, "forced_sync"); }
PD_TEST(verdict, as_many_blocking_calls_in_one_step_are_not) { expect_blocking(1, 12, "none"); }

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
  expect_next(&rig, "input_bound", "data.num_workers=13 data.prefetch_factor=4",
              "pdhost -c x.ini --num_workers 13 --prefetch_factor 4");
}

PD_TEST(verdict, workers_without_a_core_each_are_no_cure) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 100, 2); /* 500 us of work in 60 us */
  expect_next(&rig, "input_bound", "data.resident=device", "pdhost -c x.ini -o data.resident=device");
}

PD_TEST(verdict, with_cores_they_are) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 100, 12);
  expect_next(&rig, "input_bound", "data.num_workers=13 data.prefetch_factor=4",
              "pdhost -c x.ini --num_workers 13 --prefetch_factor 4");
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
  for (int64_t workers = 12; workers <= 13; workers++) {
    analysis_rig rig;
    loaded_steps(&rig, 600, 560, 2);
    judge_with(&rig, &(analysis_context){.device = fake_device(), .cores = 2, .num_workers = workers});
    const bool are_more = workers < 13;
    expect_next(&rig, "input_bound", are_more ? "data.num_workers=13 data.prefetch_factor=4" : "data.resident=device",
                are_more ? "pdhost --num_workers 13 --prefetch_factor 4" : "pdhost -o data.resident=device");
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
  }
  rig_finish(rig);
}

/* What is suggested is what the run could have and does not. */
PD_TEST(verdict, nothing_that_the_run_cannot_have_is_suggested) {
  static const struct {
    const char *cause;
    pd_offers offers;
    const char *settings, *next;
  } cases[] = {
      {"none", PD_OFFER_AMP | PD_OFFER_CHANNELS_LAST, "train.amp=true", "pdhost --amp"},
      {"none", PD_OFFER_CHANNELS_LAST, "train.channels_last=true", "pdhost --channels_last"},
      {"none", 0, NULL, "pdhost -o profile.with_stack=true"},
      {"launch_bound", PD_OFFER_CUDA_GRAPH | PD_OFFER_FUSED, "train.cuda_graph=true",
       "pdhost -o train.cuda_graph=true"},
      {"launch_bound", PD_OFFER_FUSED, "train.fused=true", "pdhost -o train.fused=true"},
      {"launch_bound", PD_OFFER_AMP, NULL, "pdhost -o profile.with_stack=true"},
      {"pageable_copy", PD_OFFER_PIN_MEMORY | PD_OFFER_PREFETCH, "data.pin_memory=true data.prefetch_to_device=true",
       "pdhost --pin_memory -o data.prefetch_to_device=true"},
      {"pageable_copy", PD_OFFER_PIN_MEMORY, "data.pin_memory=true", "pdhost --pin_memory"},
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
    fake_call(rig->fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", 0, at + 1000, at + 2000, 0);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 2000, at + 3000, 2 * s + 2);
    fake_kernel(rig->fake, "side", other, at + 3000, at + 43000, 2 * s + 1);
    fake_kernel(rig->fake, "k", own, at + 43000, at + 100000, 2 * s + 2);
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
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 40.0, 1e-9);
  cr_assert_eq(rig_int(table, row, "verdict_expected"), 60000);
  cr_assert_not_null(strstr(rig_text(table, row, "verdict_evidence"), "of one stream run for 40.0 us while"));
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
      fake_range(rig->fake, PD_RANGE_USER, "forward", 0, from, from + 5000);
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from, from + 10, s * passes + p + 1);
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

/* A thousand draws: more than three times the standard deviation, 1.4 points at most. */
#define DRAWN 4.5

PD_TEST(verdict, the_slowest_eighth_of_the_steps_does_not_sway_it) {
  analysis_rig rig;
  const pd_table *table;
  const pd_table_row *row = steps_with_waits(&rig, (int64_t[]){[3] = 1000000, [7] = 0}, 8, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  /* The slow step is drawn at most once: (7/8)^8 + 8 (1/8) (7/8)^7. */
  cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 73.63, DRAWN);
  cr_assert_str_eq(rig_text(table, row, "verdict"),
                   "possibly no bottleneck found: the device is busy 99 % of the step");
  cr_assert_eq(rig_int(table, row, "verdict_step"), 100000);
  rig_end(&rig);
}

PD_TEST(verdict, waits_in_a_few_steps_are_as_sure_as_they_would_come_again) {
  analysis_rig rig;
  const pd_table *table;
  const int64_t waits[12] = {[1] = 400000, [5] = 400000, [9] = 400000};
  const pd_table_row *row = steps_with_waits(&rig, waits, 12, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "input_bound");
  /* Of three waits in twelve steps two or more are drawn: 1 - (3/4)^12 - 12 (1/4) (3/4)^11. */
  cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 84.16, DRAWN);
  cr_assert_str_eq(rig_text(table, row, "verdict"), "possibly input-bound: the device waits for data");
  rig_end(&rig);
}

/* Half of the steps wait, so that every draw finds it; how often it was drawn. */
static uint64_t draws_of(uint64_t count) {
  static const int64_t busy[LEDGER_CAUSE_COUNT] = {[LEDGER_compute] = 100},
                       waits[LEDGER_CAUSE_COUNT] = {[LEDGER_compute] = 100, [LEDGER_input_io] = 100};
  const int64_t **rows = calloc(count, sizeof *rows);
  int64_t *spans = calloc(count, sizeof *spans);
  uint64_t *counts = calloc(count, sizeof *counts), draws = 0;
  for (uint64_t s = 0; s < count; s++) {
    rows[s] = s < count / 2 ? busy : waits;
    spans[s] = s < count / 2 ? 100 : 200;
  }
  const verdict_basis basis = {.passes = 1, .is_cuda = true};
  const uint64_t agreeing =
      verdict_agreeing_draws(&(verdict_steps){rows, spans, count}, &basis, VERDICT_input_bound, counts, &draws);
  cr_assert_eq(agreeing, draws);
  free(rows);
  free(spans);
  free(counts);
  return draws;
}

PD_TEST(verdict, thousands_of_steps_are_drawn_less_often) {
  cr_assert_eq(draws_of(64), 1000);
  cr_assert_eq(draws_of(2000), 1000);
  cr_assert_eq(draws_of(4000), 500);
  cr_assert_eq(draws_of(400000), 20);
}
