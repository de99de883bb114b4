/* The verdict: what makes it possible alone, or withholds it, where steps differ or other programs ran. */
#include "verdict_rig.h"

/* Six steps, a tenth of each a pageable copy that the host waits for; in one of them the host first does something else
 * for `late_us`. */
static void steps_with_one_late(analysis_rig *rig, int64_t step_us, int64_t late_us) {
  const int64_t copied = 100 * step_us;
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  int64_t at = 0;
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t work = at + (s == 3 ? late_us * 1000 : 0), end = work + step_us * 1000;
    fake_step(rig->fake, s, at, end);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, end);
    fake_call(rig->fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, work, work + copied, 2 * s + 1);
    fake_copy(rig->fake, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 4096, stream, work + 1000, work + copied, 2 * s + 1);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, work + copied, work + copied + 1000, 2 * s + 2);
    fake_kernel(rig->fake, "k", stream, work + copied + 1000, end, 2 * s + 2);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, work + copied + 1000, end, 1000 + s);
    at = end;
  }
  rig_finish(rig);
  rig->trace->sync_timing = 0;
}

/* One late step is the largest gain of most resamples and can itself not be named: then nothing is. */
PD_TEST(verdict, a_cause_that_few_resamples_have_is_withheld) {
  analysis_rig rig;
  steps_with_one_late(&rig, 100, 300);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  const char *text = rig_text(table, row, "verdict");
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "withheld");
  cr_assert(strstr(text, "withheld: pageable copies ("), "%s", text);
  cr_assert(strstr(text, " or launch-bound ("), "%s", text);
  rig_end(&rig);
}

PD_TEST(verdict, what_some_resamples_have_is_said_apart) {
  analysis_rig rig;
  steps_with_one_late(&rig, 400, 160);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "pageable_copy");
  cr_assert_null(strstr(rig_text(table, row, "verdict_others"), "launch-bound"));
  cr_assert(strstr(rig_text(table, row, "verdict_evidence"), " % of the resamples say launch-bound"), "%s",
            rig_text(table, row, "verdict_evidence"));
  rig_end(&rig);
}

/* A step of `work_ns` behind `lost_ns` of computing, up to `copied_ns`, and a pageable copy. Returns its end. */
static int64_t computing_and_copying(analysis_rig *rig, uint32_t stream, uint64_t step, int64_t at, int64_t copied_ns,
                                     int64_t lost_ns, int64_t work_ns) {
  const int64_t copied = at + copied_ns, work = at + lost_ns, end = work + work_ns;
  fake_step(rig->fake, step, at, end);
  fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, end);
  fake_call(rig->fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, copied, work, 2 * step + 1);
  fake_copy(rig->fake, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 4096, stream, copied, work, 2 * step + 1);
  fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, work, work + 1000, 2 * step + 2);
  fake_kernel(rig->fake, "k", stream, work + 1000, end, 2 * step + 2);
  return end;
}

static const pd_table_row *both_removed(analysis_rig *rig, const pd_table **gains) {
  *gains = rig_table(rig, "gains");
  const pd_table_row *together = rig_row_at(*gains, (*gains)->rows.count - 1);
  const char *removed = rig_text(*gains, together, "removed");
  cr_assert(strstr(removed, " + ") && strstr(removed, "pageable copies") && strstr(removed, "host compute"), "%s",
            removed);
  return together;
}

/* Computing and a copy divide each step in two ways in turn: how much either of them saves differs from draw to draw,
 * and what both save does not. */
PD_TEST(verdict, the_interval_of_causes_together_is_that_of_their_steps) {
  enum { STEPS = 8, LOST = 4000000 };
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  int64_t at = 0;
  for (uint64_t s = 0; s < STEPS; s++)
    at = computing_and_copying(&rig, stream, s, at, s % 2 ? 2400000 : 1200000, LOST, 40000);
  rig_finish(&rig);
  const pd_table *gains;
  const pd_table_row *together = both_removed(&rig, &gains);
  const double gain = rig_double(gains, together, "gain");
  cr_assert_gt(gain, 95, "%f", gain);
  cr_assert_float_eq(rig_double(gains, together, "gain_low"), gain, 0.01);
  cr_assert_float_eq(rig_double(gains, together, "gain_high"), gain, 0.01);
  for (uint64_t i = 0; i < 2; i++) {
    const pd_table_row *alone = rig_row_at(gains, i);
    cr_assert_gt(rig_double(gains, alone, "gain_high") - rig_double(gains, alone, "gain_low"), 5);
  }
  rig_end(&rig);
}

/* Every other step loses twice as much. In 95 % of the draws of eight steps one to seven of them are such steps. */
PD_TEST(verdict, the_interval_of_causes_together_has_steps_of_their_own_lengths) {
  enum { STEPS = 8, LOST = 4000000, WORK = 2000000 };
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  int64_t at = 0;
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t lost = s % 2 ? 2 * LOST : LOST;
    at = computing_and_copying(&rig, stream, s, at, lost / 2, lost, WORK);
  }
  rig_finish(&rig);
  const pd_table *gains;
  const pd_table_row *together = both_removed(&rig, &gains);
  /* What is left of a step is the same in all of them. */
  const double gain = rig_double(gains, together, "gain"), left = (1.5 * LOST + WORK) * (1 - gain / 100);
  cr_assert_float_eq(left, WORK, 0.05 * WORK, "%f", gain);
  cr_assert_float_eq(rig_double(gains, together, "gain_low"), 100 * (1 - left / (LOST * 9.0 / 8 + WORK)), 0.2);
  cr_assert_float_eq(rig_double(gains, together, "gain_high"), 100 * (1 - left / (LOST * 15.0 / 8 + WORK)), 0.2);
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

/* Two kernels of one stream with 50 us between them, and the second is queued all that time. */
PD_TEST(verdict, what_waits_for_nothing_that_is_recorded_is_possible_at_most) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, 2 * s + 1);
    fake_kernel(rig.fake, "k", stream, at + 1000, at + 25000, 2 * s + 1);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 1000, at + 2000, 2 * s + 2);
    fake_kernel(rig.fake, "l", stream, at + 75000, at + 100000, 2 * s + 2);
    fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, at + 2000, at + 100000, 1000 + s);
  }
  rig_finish(&rig);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "device_side");
  cr_assert_str_eq(rig_text(table, row, "verdict"), "possibly device-side dependency: work is queued and waits");
  cr_assert(strstr(rig_text(table, row, "verdict_evidence"), "; no record says what the work waits for"));
  rig_end(&rig);
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

/* Ten launches a step, one every 30 us, each with a kernel of 23 us behind it: launching costs a step of 260 us a
 * tenth if recording took 4 us of each launch, and too little for a name if it took 6 us. The run's own steps say that
 * it took 4. */
PD_TEST(verdict, is_only_possible_where_another_estimate_of_recording_gives_another) {
  static const struct {
    int64_t cost_ns, unprofiled_ns;
    bool possible;
  } cases[] = {{0, 0, false}, {4000, 0, true}, {0, 260000, false}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    analysis_rig rig;
    const pd_table *table;
    rig_begin(&rig);
    const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
    for (uint64_t i = 0; i < 80; i++) {
      const int64_t at = (int64_t)i * 30000;
      if (i % 10 == 0) fake_step(rig.fake, i / 10, at, at + 300000);
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 29000, at + 30000, i + 1);
      fake_kernel(rig.fake, "k", stream, at + 30000, at + 53000, i + 1);
    }
    rig_finish(&rig);
    rig.trace->facts |= PD_FACT_RECORDER_COST;
    rig.trace->record_cost_ns = cases[c].cost_ns;
    rig.trace->unprofiled_step_ns = cases[c].unprofiled_ns;
    analysis_forget(rig.analysis, rig.trace);
    const pd_table_row *row = verdict_row(&rig, &table);
    cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "launch_bound");
    cr_assert_float_eq(rig_double(table, row, "verdict_repeatable"), 100.0, 1e-9);
    cr_assert_eq(strncmp(rig_text(table, row, "verdict"), "possibly", 8) == 0, cases[c].possible);
    cr_assert_eq(!!strstr(rig_text(table, row, "verdict_evidence"), "close: if recording cost half or 1.5"),
                 cases[c].possible);
    rig_end(&rig);
  }
}

/* Six steps of launches of 10 us each and five reads of 20 us, with `beside_us` on both sides of each read in which the
 * host calls nothing. Recording costs nothing. */
static const pd_table_row *steps_with_reads(analysis_rig *rig, int launches, int64_t beside_us, bool operations,
                                            const pd_table **table) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  int64_t at = 0;
  uint64_t number = 0;
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t start = at;
    for (int i = 0; i < launches; i++, at += 10000) {
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 10000, ++number);
      fake_kernel(rig->fake, "k", stream, at + 5000, at + 7000, number);
      if (operations) fake_range(rig->fake, PD_RANGE_OP, "aten::add", 0, at, at + 10000);
      if (i % 4 != 1 || i > 20) continue;
      const int64_t call = at + 10000 + 1000 * beside_us;
      fake_call(rig->fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, call, call + 20000, ++number);
      fake_copy(rig->fake, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE, 4, stream, call + 17000, call + 18000, number);
      at = call + 10000 + 1000 * beside_us;
    }
    fake_step(rig->fake, s, start, at);
  }
  rig_finish(rig);
  rig->trace->facts |= PD_FACT_RECORDER_COST;
  analysis_forget(rig->analysis, rig->trace);
  return verdict_row(rig, table);
}

PD_TEST(verdict, is_only_possible_where_no_operations_tell_whose_the_time_between_calls_is) {
  static const struct {
    int launches;
    int64_t beside_us;
    bool operations, possible;
  } cases[] = {{20, 15, false, true}, {20, 15, true, false}, {30, 1, false, false}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    analysis_rig rig;
    const pd_table *table;
    const pd_table_row *row =
        steps_with_reads(&rig, cases[c].launches, cases[c].beside_us, cases[c].operations, &table);
    cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "launch_bound");
    cr_assert_eq(strncmp(rig_text(table, row, "verdict"), "possibly", 8) == 0, cases[c].possible, "%zu: %s", c,
                 rig_text(table, row, "verdict"));
    cr_assert_eq(!!strstr(rig_text(table, row, "verdict_evidence"),
                          "of what counts as launching, 150 us a step may belong to forced synchronisation"),
                 cases[c].possible, "%s", rig_text(table, row, "verdict_evidence"));
    rig_end(&rig);
  }
}

/* One wait of 10 ms among five short steps: most resamples have it, and the steps do not say how usual it is. */
PD_TEST(verdict, an_idle_device_with_a_cause_in_most_resamples_is_no_verdict) {
  analysis_rig rig;
  const pd_table *table;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  int64_t at = 0;
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t launched = at + (s == 2 ? 10000000 : 0);
    fake_step(rig.fake, s, at, launched + 100000);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, launched, launched + 1000, s + 1);
    fake_kernel(rig.fake, "k", stream, launched + 1000, launched + 100000, s + 1);
    at = launched + 100000;
  }
  rig_finish(&rig);
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "withheld");
  cr_assert(strstr(rig_text(table, row, "verdict"), "withheld: host compute (9"), "%s",
            rig_text(table, row, "verdict"));
  cr_assert(strstr(rig_text(table, row, "verdict"), " %) or nothing: the steps differ too much"), "%s",
            rig_text(table, row, "verdict"));
  rig_end(&rig);
}

PD_TEST(verdict, others_that_save_nothing_are_not_said) {
  analysis_rig rig;
  const pd_table *table;
  const pd_table_row *row = steps_with_waits(&rig, (int64_t[6]){90000, 90000, 90000, 90000, 90000, 90000}, 6, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "input_bound");
  cr_assert_null(strstr(rig_text(table, row, "verdict_others"), "0.0 %"), "%s", rig_text(table, row, "verdict_others"));
  rig_end(&rig);
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
  cr_assert_str_eq(rig_text(table, row, "verdict"),
                   "no known bottleneck found, but the device is idle 91 % of the step");
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
