/* The verdict: what it names, what it withholds, and that it fits its figures. */
#include "analysis/verdict.h"
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
  cr_assert_float_eq(rig_double(table, row, "verdict_confidence"), 100.0, 1e-9);
  cr_assert_eq(rig_int(table, row, "verdict_step"), 100000);
  cr_assert_eq(rig_int(table, row, "verdict_expected"), 60000);
  cr_assert_str_eq(rig_text(table, row, "verdict_evidence"),
                   "per step 40.0 us without work while the loop waits for a batch: I/O 0.0 us, CPU work 0.0 us, "
                   "hand-over 40.0 us");
  cr_assert_str_eq(rig_text(table, row, "verdict_next"), "pdhost -o data.num_workers=4 -o data.prefetch_factor=4");
  cr_assert_not_null(strstr(rig_text(table, row, "verdict_not"), "kernels of the model (59.0 %)"));
  rig_end(&rig);
}

PD_TEST(verdict, a_busy_device_has_no_bottleneck) {
  analysis_rig rig;
  rig_begin(&rig);
  steps_with_wait(&rig, 5, 5, false);
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict"), "no bottleneck injected: device-bound");
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 94.0, 1e-9);
  cr_assert(rig_cell(table, row, "verdict_expected")->missing);
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

PD_TEST(verdict, is_withheld_on_a_device_that_stood_in) {
  analysis_rig rig;
  rig_begin(&rig);
  steps_with_wait(&rig, 5, 40, false);
  rig_finish(&rig);
  analysis_close(rig.analysis);
  const analysis_context context = {.device = fake_device(), .cores = 2, .fallback = "no driver"};
  cr_assert_eq(analysis_open(&context, &rig.analysis), PD_OK);
  withheld(&rig, "withheld: the CPU device stood in for the one wanted (no driver)");
  rig_end(&rig);
}

PD_TEST(verdict, thresholds) {
  const verdict_basis plain = {.is_cuda = true}, blocking = {.blocking = true, .is_cuda = true}, threads = {0};
  int64_t rows[LEDGER_CAUSE_COUNT] = {[LEDGER_compute] = 80000};
  rows[LEDGER_launch] = 9999;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_none);
  rows[LEDGER_launch_gap] = 1; /* the causes' parts count together */
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_launch_bound);
  rows[LEDGER_host_compute] = 10001;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_host_compute);
  rows[LEDGER_host_compute] = rows[LEDGER_launch] = 0;
  rows[LEDGER_forced_sync] = 100;
  cr_assert_eq(verdict_of(rows, 100000, &plain), VERDICT_none);
  cr_assert_eq(verdict_of(rows, 100000, &blocking), VERDICT_forced_sync);
  rows[LEDGER_forced_sync] = 99;
  cr_assert_eq(verdict_of(rows, 100000, &blocking), VERDICT_none);
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

PD_TEST(verdict, the_slowest_eighth_of_the_steps_does_not_sway_it) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  int64_t at = 0;
  for (uint64_t s = 0; s < 8; s++) {
    const int64_t wait = s == 3 ? 1000000 : 0, train = at + wait, end = train + 100000;
    fake_step(rig.fake, s, at, end);
    fake_range(rig.fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, train);
    fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, train, end);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, train, train + 1000, s + 1);
    fake_kernel(rig.fake, "k", stream, train + 1000, end, s + 1);
    at = end;
  }
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "none");
  cr_assert_float_eq(rig_double(table, row, "verdict_confidence"), 87.5, 1e-9);
  cr_assert_eq(rig_int(table, row, "verdict_step"), 100000);
  rig_end(&rig);
}
