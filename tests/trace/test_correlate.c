/* Correlation: call to range, device record to call, what belongs to which window, and what is counted. */
#include "correlate_rig.h"

PD_TEST(correlate, a_kernel_goes_to_its_call_and_the_call_to_its_operation) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2000, "train_step", PD_RANGE_USER);
  rig_begin_at(&self, 2010, "conv2d", PD_RANGE_OP);
  rig_begin_at(&self, 2020, "mine", PD_RANGE_USER);     /* a user range inside an operation holds no launch */
  rig_begin_at(&self, 2022, "Conv2d", PD_RANGE_MODULE); /* nor does a module */
  rig_end_at(&self, 2040);
  rig_end_at(&self, 2041);
  rig_begin_at(&self, 2050, "inner", PD_RANGE_OP_INNER);
  rig_end_at(&self, 2060);
  rig_end_at(&self, 2070);
  rig_end_at(&self, 2090);
  rig_step_at(&self, 2100, 0);
  rig_step_at(&self, 2200, 1);
  give_realtime(&self, rig_kernel(&self, "second", 12, 2150, 2250)); /* after the end of the window */
  give_realtime(&self, rig_call(&self, "cudaLaunchKernel", PD_API_LAUNCH, 12, 2055, 2058));
  rig_give(&self, rig_call(&self, "cudaLaunchKernel", PD_API_LAUNCH, 11, 2030, 2033));
  rig_give(&self, rig_kernel(&self, "first", 11, 2120, 2140));
  rig_give(&self, rig_call(&self, "cudaLaunchKernel", PD_API_LAUNCH, 13, 2080, 2084));
  rig_give(&self, rig_kernel(&self, "third", 13, 2250, 2260));
  rig_give(&self, rig_call(&self, "cudaDeviceSynchronize", PD_API_SYNC, 14, 2150, 2199));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->calls.count, 4);
  static const struct {
    uint64_t correlation;
    uint32_t range, step, activities;
  } calls[4] = {{11, 1, 0, 1}, {12, 4, 0, 1}, {13, 0, 0, 1}, {14, PD_NONE, 1, 0}};
  for (uint32_t i = 0; i < 4; i++) {
    cr_assert_eq(call_at(trace, i)->correlation, calls[i].correlation);
    cr_assert_eq(call_at(trace, i)->range, calls[i].range, "call %u has range %u", i, call_at(trace, i)->range);
    cr_assert_eq(call_at(trace, i)->step, calls[i].step);
    cr_assert_eq(call_at(trace, i)->activity_count, calls[i].activities);
    cr_assert_eq(call_at(trace, i)->thread, 0);
  }
  cr_assert_eq(call_at(trace, 0)->start_ns, 30);
  cr_assert_eq(call_at(trace, 0)->end_ns, 33);
  cr_assert_eq(trace->activities.count, 3);
  static const char *const names[3] = {"first", "second", "third"};
  for (uint32_t i = 0; i < 3; i++) {
    const pd_device_row *row = device_at(trace, i);
    cr_assert_str_eq(trace_text(trace, row->name), names[i]);
    cr_assert_eq(row->call, i);
    cr_assert_eq(row->range, calls[i].range);
    cr_assert_eq(row->step, 0, "the step of the call, wherever it ran");
    cr_assert_eq(*PD_AT(uint32_t, &trace->activities_by_call, call_at(trace, i)->activity_first), i);
  }
  cr_assert_eq(device_at(trace, 1)->start_ns, 150);
  cr_assert_eq(device_at(trace, 1)->end_ns, 250);
  cr_assert_eq(device_at(trace, 1)->detail.start, 150, "the detail's times are in the trace's base too");
  cr_assert_eq(device_at(trace, 1)->detail.end, 250);
  cr_assert_eq(step_row_at(trace, 0)->launches, 3);
  cr_assert_eq(step_row_at(trace, 0)->matched, 3);
  cr_assert_eq(step_row_at(trace, 0)->device_rows, 3);
  cr_assert_eq(step_row_at(trace, 1)->launches, 0);
  cr_assert_eq(trace->streams.count, 1);
  cr_assert_str_eq(trace_text(trace, PD_AT(pd_stream_row, &trace->streams, 0)->name), "stream 7");
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, edges_of_ranges_and_steps_are_half_open) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "a", PD_RANGE_OP);
  rig_end_at(&self, 2020);
  rig_begin_at(&self, 2020, "b", PD_RANGE_OP);
  rig_end_at(&self, 2100);
  rig_step_at(&self, 2100, 0);
  rig_step_at(&self, 2200, 1);
  static const struct {
    int64_t start;
    uint32_t range, step;
  } cases[] = {{2000, PD_NONE, 0}, {2009, PD_NONE, 0}, {2010, 0, 0},       {2019, 0, 0},
               {2020, 1, 0},       {2099, 1, 0},       {2100, PD_NONE, 1}, {2199, PD_NONE, 1}};
  enum { CASES = sizeof cases / sizeof cases[0] };
  for (uint64_t i = 0; i < CASES; i++)
    rig_give(&self, rig_call(&self, "sync", PD_API_SYNC, i + 1, cases[i].start, cases[i].start + 50));
  rig_give(&self, rig_call(&self, "before", PD_API_SYNC, 100, 1999, 2050));
  rig_give(&self, rig_call(&self, "after", PD_API_SYNC, 101, 2200, 2250));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->calls.count, CASES);
  for (uint64_t i = 0; i < CASES; i++) {
    cr_assert_eq(call_at(trace, i)->range, cases[i].range, "at %lld", (long long)cases[i].start);
    cr_assert_eq(call_at(trace, i)->step, cases[i].step, "at %lld", (long long)cases[i].start);
  }
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, late_records_find_their_window) {
  rig self;
  rig_open(&self, plain);
  /* Warm-up: its kernels come in while the window is on. */
  rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, 1, 1100, 1110));
  rig_window_at(&self, 50000000, 0);
  rig_give(&self, rig_kernel(&self, "warm-up", 1, 50000100, 50000200));
  rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, 2, 49999990, 49999995)); /* just before, and late */
  rig_give(&self, rig_kernel(&self, "edge", 2, 50000200, 50000300));
  rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, 3, 50000010, 50000020));
  rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, 4, 50000500, 50000510)); /* of the next window */
  rig_give(&self, rig_kernel(&self, "ahead", 4, 50000600, 50000700));
  rig_give(&self, rig_kernel(&self, "call still to come", 5, 50000700, 50000800));
  rig_step_at(&self, 50000400, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->calls.count, 1);
  cr_assert_eq(call_at(trace, 0)->correlation, 3);
  cr_assert_eq(trace->activities.count, 0);
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_LAUNCH], 1, "3 has got nothing");
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_ACTIVITY], 0, "all others are of known calls, or of later ones");
  cr_assert_eq(trace->losses[PD_LOSS_AMBIGUOUS], 1);
  cr_assert_eq(trace->loss_rows.count, 2);
  for (uint64_t i = 0; i < 2; i++) {
    const pd_loss_row *row = PD_AT(pd_loss_row, &trace->loss_rows, i);
    cr_assert(row->start_ns == 10 && row->end_ns == 10 && row->count == 1 && row->thread == 0, "where the launch is");
  }
  trace_free(trace);
  rig_window_at(&self, 50000450, 1);
  rig_give(&self, rig_kernel(&self, "too late", 3, 50000410, 50000420)); /* its window is over */
  rig_give(&self, rig_call(&self, "launch", PD_API_LAUNCH, 5, 50000520, 50000530));
  rig_step_at(&self, 50000900, 1);
  trace = rig_finish(&self);
  cr_assert_eq(trace->calls.count, 2);
  cr_assert_eq(trace->activities.count, 2);
  cr_assert_str_eq(trace_text(trace, device_at(trace, 0)->name), "ahead");
  cr_assert_eq(device_at(trace, 0)->start_ns, 150);
  cr_assert_eq(device_at(trace, 0)->call, 0);
  cr_assert_str_eq(trace_text(trace, device_at(trace, 1)->name), "call still to come");
  cr_assert_eq(device_at(trace, 1)->call, 1);
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_LAUNCH], 0);
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_ACTIVITY], 0);
  trace_free(trace);
  cr_assert_eq(self.recorder->call_count, 0);
  cr_assert_eq(self.recorder->device_count, 0);
  rig_close(&self);
}

PD_TEST(correlate, what_came_in_during_a_long_wait_makes_room) {
  rig self;
  rig_open(&self, plain);
  recorder_enable(self.recorder, false);
  for (uint64_t i = 1; i <= 3000; i++) {
    give_realtime(&self, rig_call(&self, "launch", PD_API_LAUNCH, i, 1100, 1110));
    rig_give(&self, rig_kernel(&self, "k", i, 1200, 1300));
  }
  rig_at(&self, 90000000);
  recorder_enable(self.recorder, true);
  cr_assert_eq(chunk_list_count(&thread_current.thread->calls), 0);
  cr_assert_eq(chunk_list_count(&thread_current.thread->devices), 0);
  cr_assert_eq(self.recorder->call_count, 0, "of calls long over only their ids are kept");
  cr_assert_eq(self.recorder->device_count, 0);
  cr_assert_eq(self.recorder->earlier_count, 3000);
  rig_window_at(&self, 100000000, 0);
  rig_give(&self, rig_kernel(&self, "of the wait", 2999, 100000010, 100000020));
  rig_step_at(&self, 100000100, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, 0);
  assert_no_losses(trace);
  cr_assert_eq(self.recorder->earlier_count, 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, a_graph_launch_has_many_kernels) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2001, "replay", PD_RANGE_USER);
  rig_end_at(&self, 2090);
  rig_step_at(&self, 2100, 0);
  rig_give(&self, rig_call(&self, "cudaGraphLaunch", PD_API_GRAPH_LAUNCH, 5, 2010, 2020));
  for (int64_t i = 99; i >= 0; i--) rig_give(&self, rig_kernel(&self, "node", 5, 2030 + 10 * i, 2035 + 10 * i));
  rig_give(&self, rig_call(&self, "cudaGraphLaunch", PD_API_GRAPH_LAUNCH, 6, 2021, 2022));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, 100);
  cr_assert_eq(call_at(trace, 0)->activity_count, 100);
  cr_assert_eq(call_at(trace, 0)->activity_first, 0);
  for (uint32_t i = 0; i < 100; i++) {
    cr_assert_eq(*PD_AT(uint32_t, &trace->activities_by_call, i), i);
    cr_assert_eq(device_at(trace, i)->start_ns, 30 + 10 * i);
    cr_assert_eq(device_at(trace, i)->range, 0);
  }
  cr_assert_eq(step_row_at(trace, 0)->launches, 2);
  cr_assert_eq(step_row_at(trace, 0)->matched, 1);
  cr_assert_eq(step_row_at(trace, 0)->device_rows, 100);
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_LAUNCH], 1);
  cr_assert_float_eq(pd_trace_coverage(trace), 0.5, 1e-12);
  trace->profile = PD_PROFILE_EVENTS;
  cr_assert(isnan(pd_trace_coverage(trace)), "nobody counted");
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, a_driver_call_inside_a_runtime_call_is_one_launch) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2001, "op", PD_RANGE_OP);
  rig_end_at(&self, 2090);
  rig_step_at(&self, 2100, 0);
  pd_activity driver = rig_call(&self, "cuLaunchKernel", PD_API_LAUNCH, 5, 2012, 2018);
  driver.kind = PD_ACTIVITY_DRIVER;
  rig_give(&self, driver);
  rig_give(&self, rig_call(&self, "cudaLaunchKernel", PD_API_LAUNCH, 5, 2010, 2020));
  rig_give(&self, rig_kernel(&self, "k", 5, 2030, 2040));
  driver.correlation = 6; /* by itself */
  driver.start = 2050;
  driver.end = 2060;
  rig_give(&self, driver);
  rig_give(&self, rig_kernel(&self, "k2", 6, 2070, 2080));
  driver.correlation = 7; /* the runtime call of that id is another thread's */
  driver.start = 2072;
  driver.end = 2074;
  rig_give(&self, driver);
  pd_activity elsewhere = rig_call(&self, "cudaLaunchKernel", PD_API_OTHER, 7, 2071, 2075);
  elsewhere.thread++;
  rig_give(&self, elsewhere);
  rig_give(&self, rig_kernel(&self, "k3", 7, 2080, 2085));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->calls.count, 4);
  cr_assert_str_eq(trace_text(trace, call_at(trace, 0)->name), "cudaLaunchKernel");
  cr_assert_eq(call_at(trace, 0)->activity_count, 1);
  cr_assert_str_eq(trace_text(trace, call_at(trace, 1)->name), "cuLaunchKernel");
  cr_assert_eq(call_at(trace, 1)->kind, PD_ACTIVITY_DRIVER);
  cr_assert_eq(call_at(trace, 1)->activity_count, 1);
  cr_assert_eq(call_at(trace, 2)->correlation, 7);
  cr_assert_eq(call_at(trace, 2)->thread, 1);
  cr_assert_eq(call_at(trace, 2)->activity_count, 1, "the runtime call comes first");
  cr_assert_eq(step_row_at(trace, 0)->launches, 3);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, a_failed_launch_expects_nothing) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2100, 0);
  pd_activity failed = rig_call(&self, "cudaLaunchKernel", PD_API_LAUNCH, 5, 2012, 2018);
  failed.u.api.result = 701;
  failed.u.api.cbid = 211;
  rig_give(&self, failed);
  for (uint32_t api = PD_API_OTHER; api <= PD_API_FREE; api++)
    rig_give(&self, rig_call(&self, "api", api, 10 + api, 2020 + api, 2040));
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->calls.count, 9);
  cr_assert_eq(call_at(trace, 0)->result, 701);
  cr_assert_eq(call_at(trace, 0)->cbid, 211);
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_LAUNCH], 3, "launch, copy and graph launch: a set may have no bytes");
  cr_assert_eq(trace->losses[PD_LOSS_AMBIGUOUS], 4, "no range holds them");
  cr_assert_eq(step_row_at(trace, 0)->launches, 3);
  cr_assert_eq(step_row_at(trace, 0)->matched, 0);
  trace_free(trace);
  rig_close(&self);
}
