/* Times that cannot be right, unknown calls, ids and threads. */
#include "correlate_rig.h"

PD_TEST(correlate, records_without_a_time_or_with_an_impossible_one_are_counted_and_left_out) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 120000, 0);
  rig_begin_at(&self, 120000, "op", PD_RANGE_OP);
  rig_end_at(&self, 129999);
  rig_step_at(&self, 130000, 0);
  for (uint64_t i = 1; i <= 8; i++) rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, i, 125000, 125010));
  rig_give(&self, rig_kernel(&self, "zero", 1, 0, 0));
  rig_give(&self, rig_kernel(&self, "no end", 2, 125100, 0));
  rig_give(&self, rig_kernel(&self, "backwards", 3, 125100, 125099));
  rig_give(&self, rig_kernel(&self, "before its call", 4, 74999, 125100));
  rig_give(&self, rig_kernel(&self, "just within the clocks' error", 5, 75000, 125100));
  rig_give(&self, rig_kernel(&self, "no length", 6, 125200, 125200));
  rig_give(&self, rig_kernel(&self, "zero, of no call", 77, 0, 0));
  pd_activity nothing = rig_call(&self, "zero call", PD_API_SYNC, 9, 0, 0);
  rig_give(&self, nothing);
  rig_give(&self, rig_call(&self, "backward call", PD_API_SYNC, 10, 125300, 125299));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, 2);
  cr_assert_str_eq(trace_text(trace, device_at(trace, 0)->name), "just within the clocks' error");
  cr_assert_str_eq(trace_text(trace, device_at(trace, 1)->name), "no length");
  cr_assert_eq(trace->losses[PD_LOSS_TIME_CORRECTED], 2);
  cr_assert_eq(trace->losses[PD_LOSS_ZERO_TIMESTAMP], 3, "two kernels and a call");
  cr_assert_eq(trace->losses[PD_LOSS_IMPLAUSIBLE], 3, "two kernels and a call");
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_ACTIVITY], 1);
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_LAUNCH], 6);
  cr_assert_eq(trace->calls.count, 9);
  cr_assert_eq(call_at(trace, 8)->end_ns, call_at(trace, 8)->start_ns);
  trace_free(trace);
  rig_close(&self);
}

/* Five kernels of two streams, given in every order; the clocks' map is off by 3, later by 7. From there on all that
 * follows moves, so that none begins before its call, and no length and no order on a stream changes. */
PD_TEST(correlate, records_before_their_calls_are_moved_alike_in_any_order_of_arrival) {
  static const struct {
    int64_t call, start, end;
    uint32_t stream;
  } kernels[5] = {{20100, 20200, 20300, 7},
                  {20400, 20397, 20500, 7},
                  {20410, 20500, 20510, 7},
                  {20520, 20513, 20600, 8},
                  {20530, 20540, 20640, 7}};
  static const int64_t wanted[5][2] = {{200, 300}, {400, 503}, {503, 513}, {520, 607}, {547, 647}};
  for (int order = 0; order < 120; order++) {
    int left[5] = {0, 1, 2, 3, 4}, rest = order;
    rig self;
    rig_open(&self, plain);
    rig_window_at(&self, 20000, 0);
    rig_begin_at(&self, 20000, "op", PD_RANGE_OP);
    rig_end_at(&self, 29999);
    rig_step_at(&self, 30000, 0);
    for (int i = 0; i < 5; i++) {
      const int at = rest % (5 - i), pick = left[at];
      rest /= 5 - i;
      memmove(left + at, left + at + 1, (size_t)(4 - at) * sizeof *left);
      const int64_t call = kernels[pick].call;
      rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, (uint64_t)pick + 1, call, call + 5));
      pd_activity kernel = rig_kernel(&self, "kernel", (uint64_t)pick + 1, kernels[pick].start, kernels[pick].end);
      kernel.stream = kernels[pick].stream;
      rig_give(&self, kernel);
    }
    pd_trace *trace = rig_finish(&self);
    cr_assert_eq(trace->activities.count, 5);
    for (uint64_t i = 0; i < 5; i++) {
      const pd_device_row *row = device_at(trace, i);
      cr_assert_eq(row->detail.correlation, i + 1, "order %d", order);
      cr_assert_eq(row->start_ns, wanted[i][0], "order %d, row %lu starts at %ld", order, i, row->start_ns);
      cr_assert_eq(row->end_ns, wanted[i][1]);
      cr_assert_eq(row->detail.start, row->start_ns);
      cr_assert_geq(row->start_ns, call_at(trace, row->call)->start_ns);
    }
    cr_assert_eq(trace->losses[PD_LOSS_TIME_CORRECTED], 4);
    cr_assert_eq(trace->corrected_ns, 7);
    trace_free(trace);
    rig_close(&self);
  }
}

PD_TEST(correlate, stamps_from_the_ends_of_time_do_no_harm) {
  static const int64_t stamps[] = {INT64_MIN, INT64_MIN + 1, -1, 1, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
  enum { STAMPS = sizeof stamps / sizeof stamps[0] };
  rig self;
  rig_open(&self, plain);
  for (uint32_t window = 0; window < 2; window++) {
    for (uint64_t i = 0; i < 4 * STAMPS * STAMPS; i++) {
      pd_activity activity = rig_kernel(&self, "k", i, stamps[i % STAMPS], stamps[i / STAMPS % STAMPS]);
      if (i % 3 == 0) activity = rig_call(&self, "c", PD_API_LAUNCH, i / 3 + 1, activity.start, activity.end);
      self.record->activities(self.record, i % 2 ? PD_CLOCK_TICKS : PD_CLOCK_REALTIME, &activity, 1);
      if (i == 2 * STAMPS * STAMPS) rig_window_at(&self, 20000 * (window + 1), window);
    }
    rig_step_at(&self, 20000 * (window + 1) + 100, window);
    pd_trace *trace = rig_finish(&self);
    cr_assert_eq(trace->calls.count, 0);
    cr_assert_eq(trace->activities.count, 0);
    cr_assert_gt(trace->losses[PD_LOSS_ZERO_TIMESTAMP], 0);
    trace_free(trace);
  }
  rig_close(&self);
}

PD_TEST(correlate, device_work_of_an_unknown_call_is_shown_where_it_ran) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2100, 0);
  rig_give(&self, rig_kernel(&self, "before", 1, 1990, 2010));
  rig_give(&self, rig_kernel(&self, "inside", 2, 2050, 2060));
  rig_give(&self, rig_kernel(&self, "inside, without an id", 0, 2060, 2070));
  rig_give(&self, rig_kernel(&self, "later", 3, 2100, 2110));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, 2);
  for (uint64_t i = 0; i < 2; i++) {
    cr_assert_eq(device_at(trace, i)->call, PD_NONE);
    cr_assert_eq(device_at(trace, i)->range, PD_NONE);
    cr_assert_eq(device_at(trace, i)->step, PD_NONE);
  }
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_ACTIVITY], 2);
  cr_assert_eq(trace->activities_by_call.count, 0);
  cr_assert_eq(self.recorder->device_count, 1, "the later one waits");
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, ids_beyond_32_bits_are_not_mixed_up) {
  rig self;
  const uint64_t wide = UINT64_C(0x100000000);
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2000, "op", PD_RANGE_OP);
  rig_end_at(&self, 2099);
  rig_step_at(&self, 2100, 0);
  rig_give(&self, rig_call(&self, "a", PD_API_LAUNCH, 5, 2010, 2011));
  rig_give(&self, rig_call(&self, "b", PD_API_LAUNCH, wide + 5, 2020, 2021));
  rig_give(&self, rig_call(&self, "c", PD_API_LAUNCH, UINT64_MAX, 2030, 2031));
  rig_give(&self, rig_kernel(&self, "of c", UINT64_MAX, 2040, 2041));
  rig_give(&self, rig_kernel(&self, "of b", wide + 5, 2050, 2051));
  rig_give(&self, rig_kernel(&self, "of a", 5, 2060, 2061));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(device_at(trace, 0)->call, 2);
  cr_assert_eq(device_at(trace, 1)->call, 1);
  cr_assert_eq(device_at(trace, 2)->call, 0);
  cr_assert_eq(device_at(trace, 1)->detail.correlation, wide + 5);
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, launches_are_held_by_ranges_of_their_own_thread_only) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2000, "here", PD_RANGE_OP);
  rig_end_at(&self, 2099);
  rig_step_at(&self, 2100, 0);
  pd_activity call = rig_call(&self, "launch", PD_API_LAUNCH, 5, 2010, 2011);
  call.thread += 1000000; /* a thread that has recorded nothing */
  rig_give(&self, call);
  rig_give(&self, rig_kernel(&self, "k", 5, 2040, 2041));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->threads.count, 2);
  cr_assert_eq(PD_AT(pd_thread, &trace->threads, 1)->tid, call.thread);
  cr_assert_eq(PD_AT(pd_thread, &trace->threads, 1)->name, 0);
  cr_assert_eq(call_at(trace, 0)->thread, 1);
  cr_assert_eq(call_at(trace, 0)->range, PD_NONE);
  cr_assert_eq(trace->losses[PD_LOSS_AMBIGUOUS], 1);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, records_come_in_from_any_thread_while_ranges_are_off) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2100, 0);
  recorder_enable(self.recorder, false);
  rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, 5, 2050, 2060));
  rig_give(&self, rig_kernel(&self, "k", 5, 2070, 2080));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, 1);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, device_records_survive_a_step_of_the_system_clock) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 1000000, 0);
  rig_begin_at(&self, 1000000, "op", PD_RANGE_OP);
  rig_step_at(&self, 2000000, 0);
  atomic_store(&self.offset, -400000); /* somewhere in the second step */
  rig_step_at(&self, 3000000, 1);
  rig_step_at(&self, 4000000, 2);
  give_realtime(&self, rig_call(&self, "before", PD_API_LAUNCH, 1, 1500000, 1500010));
  give_realtime(&self, rig_kernel(&self, "k", 1, 1600000, 1600010));
  give_realtime(&self, rig_call(&self, "after", PD_API_LAUNCH, 2, 3500000 - 400000, 3500010 - 400000));
  give_realtime(&self, rig_kernel(&self, "k", 2, 3600000 - 400000, 3600010 - 400000));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->losses[PD_LOSS_CLOCK_STEP], 1);
  cr_assert_eq(call_at(trace, 0)->start_ns, 500000);
  cr_assert_eq(call_at(trace, 1)->start_ns, 2500000);
  cr_assert_eq(call_at(trace, 1)->step, 2);
  cr_assert_eq(device_at(trace, 1)->start_ns, 2600000);
  trace_free(trace);
  rig_close(&self);
}
