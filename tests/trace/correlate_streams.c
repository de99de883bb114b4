/* Device records in the trace: names of copies, streams, overhead and synchronisations. */
#include "recorder_rig.h"

static const recorder_options plain = {.max_bytes = 16 << 20};

PD_TEST(correlate, copies_and_sets_are_named_by_their_ends) {
  static const struct {
    pd_memory_kind from, to;
    const char *name;
  } cases[] = {
      {PD_MEMORY_PINNED, PD_MEMORY_DEVICE, "Memcpy HtoD (Pinned -> Device)"},
      {PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, "Memcpy HtoD (Pageable -> Device)"},
      {PD_MEMORY_DEVICE, PD_MEMORY_PINNED, "Memcpy DtoH (Device -> Pinned)"},
      {PD_MEMORY_DEVICE, PD_MEMORY_DEVICE, "Memcpy DtoD (Device -> Device)"},
      {PD_MEMORY_PAGEABLE, PD_MEMORY_PINNED, "Memcpy HtoH (Pageable -> Pinned)"},
      {PD_MEMORY_MANAGED, PD_MEMORY_DEVICE, "Memcpy DtoD (Managed -> Device)"},
      {PD_MEMORY_UNKNOWN, PD_MEMORY_DEVICE, "Memcpy HtoD (Unknown -> Device)"},
      {PD_MEMORY_PINNED, PD_MEMORY_UNKNOWN, "Memcpy HtoD (Pinned -> Unknown)"},
      {PD_MEMORY_DEVICE, PD_MEMORY_UNKNOWN, "Memcpy DtoH (Device -> Unknown)"},
      {PD_MEMORY_UNKNOWN, PD_MEMORY_PINNED, "Memcpy DtoH (Unknown -> Pinned)"},
      {PD_MEMORY_UNKNOWN, 4711, "Memcpy (Unknown -> Unknown)"},
  };
  enum { CASES = sizeof cases / sizeof cases[0] };
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2500, 0);
  for (uint64_t i = 0; i < CASES; i++) {
    int64_t at = 2100 + 10 * (int64_t)i;
    rig_give(&self, rig_call(&self, "cudaMemcpyAsync", PD_API_MEMCPY, i + 1, at, at + 5));
    rig_give(&self, (pd_activity){.kind = PD_ACTIVITY_MEMCPY,
                                  .start = at + 3,
                                  .end = at + 9,
                                  .correlation = i + 1,
                                  .bytes = 4096 + i,
                                  .u.copy = {.from = cases[i].from, .to = cases[i].to}});
  }
  rig_give(&self, rig_call(&self, "cudaMemsetAsync", PD_API_MEMSET, 50, 2400, 2401));
  rig_give(&self, (pd_activity){.kind = PD_ACTIVITY_MEMSET,
                                .start = 2410,
                                .end = 2411,
                                .correlation = 50,
                                .u.copy = {.to = PD_MEMORY_DEVICE}});
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, CASES + 1);
  for (uint64_t i = 0; i < CASES; i++) {
    cr_assert_str_eq(trace_text(trace, device_at(trace, i)->name), cases[i].name);
    cr_assert_eq(device_at(trace, i)->detail.name, device_at(trace, i)->name);
    cr_assert_eq(device_at(trace, i)->detail.bytes, 4096 + i);
  }
  cr_assert_str_eq(trace_text(trace, device_at(trace, CASES)->name), "Memset (Device)");
  cr_assert_eq(step_row_at(trace, 0)->matched, CASES + 1);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, streams_are_told_apart_by_device_and_context) {
  static const uint32_t keys[4][3] = {{1, 1, 7}, {0, 2, 7}, {0, 1, 14}, {0, 1, 7}};
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2500, 0);
  for (uint64_t i = 0; i < 12; i++) {
    pd_activity kernel = rig_kernel(&self, "k", 0, 2100 + (int64_t)i, 2200);
    kernel.device = keys[i % 4][0];
    kernel.context = keys[i % 4][1];
    kernel.stream = keys[i % 4][2];
    rig_give(&self, kernel);
  }
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->streams.count, 4);
  for (uint32_t i = 0; i < 4; i++) {
    const pd_stream_row *row = PD_AT(pd_stream_row, &trace->streams, i);
    cr_assert_eq(row->device, keys[3 - i][0]);
    cr_assert_eq(row->context, keys[3 - i][1]);
    cr_assert_eq(row->stream, keys[3 - i][2]);
  }
  for (uint32_t i = 0; i < 12; i++) cr_assert_eq(device_at(trace, i)->stream, 3 - i % 4);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, work_of_an_unknown_stream_has_a_row) {
  static const pd_activity_kind kinds[] = {PD_ACTIVITY_KERNEL, PD_ACTIVITY_MEMCPY, PD_ACTIVITY_MEMSET};
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2500, 0);
  for (uint32_t i = 0; i < 6; i++) {
    pd_activity work = rig_kernel(&self, "k", 0, 2100 + (int64_t)i, 2200);
    work.kind = kinds[i % 3];
    work.device = i / 3;
    work.stream = PD_STREAM_UNKNOWN;
    rig_give(&self, work);
  }
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, 6);
  cr_assert_eq(trace->streams.count, 2);
  for (uint32_t i = 0; i < 6; i++) {
    cr_assert_lt(device_at(trace, i)->stream, trace->streams.count);
    const pd_stream_row *row = PD_AT(pd_stream_row, &trace->streams, device_at(trace, i)->stream);
    cr_assert_eq(row->device, i / 3);
    cr_assert_eq(row->stream, PD_STREAM_UNKNOWN);
    cr_assert_str_eq(trace_text(trace, row->name), "unknown stream");
  }
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(correlate, overhead_and_synchronisations_are_rows_of_their_own) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2100, 0);
  rig_give(&self, rig_call(&self, "cudaStreamSynchronize", PD_API_SYNC, 5, 2050, 2060));
  pd_activity sync = {.kind = PD_ACTIVITY_SYNC,
                      .name = self.record->intern(self.record, "Stream Sync"),
                      .start = 2110,
                      .end = 2120,
                      .correlation = 5,
                      .stream = 7};
  rig_give(&self, sync); /* after the end, but its call's */
  sync.name = self.record->intern(self.record, "Context Sync");
  sync.stream = UINT32_MAX;
  sync.device = 2;
  sync.context = 3;
  sync.correlation = 0;
  sync.start = 2070;
  sync.end = 2071;
  rig_give(&self, sync);
  pd_activity overhead = {.kind = PD_ACTIVITY_OVERHEAD,
                          .name = self.record->intern(self.record, "Buffer Flush"),
                          .start = 2030,
                          .end = 2040};
  rig_give(&self, overhead);
  overhead.start = 1990;
  rig_give(&self, overhead); /* before */
  overhead.start = 2100;
  rig_give(&self, overhead); /* later */
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->activities.count, 0);
  cr_assert_eq(trace->others.count, 3);
  const pd_other_row *first = PD_AT(pd_other_row, &trace->others, 0);
  const pd_other_row *second = PD_AT(pd_other_row, &trace->others, 1);
  const pd_other_row *third = PD_AT(pd_other_row, &trace->others, 2);
  cr_assert_str_eq(trace_text(trace, first->name), "Buffer Flush");
  cr_assert_eq(first->kind, PD_ACTIVITY_OVERHEAD);
  cr_assert_eq(first->stream, PD_NONE);
  cr_assert_eq(first->thread, PD_NONE);
  cr_assert_eq(first->correlation, 0);
  cr_assert_str_eq(trace_text(trace, second->name), "Context Sync");
  cr_assert_eq(second->stream, PD_NONE);
  cr_assert_eq(second->device, 2);
  cr_assert_eq(second->context, 3);
  cr_assert_str_eq(trace_text(trace, third->name), "Stream Sync");
  cr_assert_eq(third->stream, 0);
  cr_assert_eq(third->thread, 0, "its call's");
  cr_assert_eq(third->correlation, 5);
  cr_assert_eq(third->start_ns, 110);
  cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_ACTIVITY], 0);
  cr_assert_eq(self.recorder->device_count, 1);
  trace_free(trace);
  rig_close(&self);
}
