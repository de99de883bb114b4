/* The recorder from outside: what it loses, memory events, counters, and windows of steps. */
#include "recorder_rig.h"

#include <string.h>
#include <unistd.h>

static const recorder_options plain = {.max_bytes = 16 << 20, .record_shapes = true, .profile_memory = true};

PD_TEST(recorder, one_end_too_many_is_counted) {
  rig self;
  rig_open(&self, plain);
  rig_end_at(&self, 1500); /* before the window: not this window's */
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "x", PD_RANGE_USER);
  rig_end_at(&self, 2020);
  rig_end_at(&self, 2030);
  rig_end_at(&self, 2040);
  rig_begin_at(&self, 2050, "y", PD_RANGE_USER);
  rig_end_at(&self, 2060);
  rig_step_at(&self, 2070, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->losses[PD_LOSS_UNBALANCED], 2);
  cr_assert_eq(trace->ranges.count, 2);
  assert_range(trace, 1, "y", 50, 60, PD_NONE, 0, 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, losses_far_apart_are_places_of_their_own) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_end_at(&self, 2100);
  rig_end_at(&self, 2200);
  rig_end_at(&self, 9002000);
  rig_step_at(&self, 9003000, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->loss_rows.count, 2);
  const pd_loss_row *first = PD_AT(pd_loss_row, &trace->loss_rows, 0),
                    *second = PD_AT(pd_loss_row, &trace->loss_rows, 1);
  cr_assert(first->loss == PD_LOSS_UNBALANCED && first->count == 2 && first->start_ns == 100 && first->end_ns == 200);
  cr_assert(second->loss == PD_LOSS_UNBALANCED && second->count == 1 && second->start_ns == 9000000);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, a_full_list_of_places_widens_the_last_of_the_kind) {
  static loss_marks marks;
  for (int64_t i = 0; i < LOSS_MARKS; i++) cr_assert(loss_marks_add(&marks, PD_LOSS_MEMORY_FULL, 7, 10 * i, 1, 5));
  cr_assert_eq(marks.count, LOSS_MARKS);
  cr_assert(loss_marks_add(&marks, PD_LOSS_MEMORY_FULL, 7, 100000, 3, 5));
  cr_assert(loss_marks_add(&marks, PD_LOSS_MEMORY_FULL, 8, 100010, 1, 5));
  cr_assert_not(loss_marks_add(&marks, PD_LOSS_AMBIGUOUS, 7, 5, 1, 5), "no place of that kind");
  cr_assert_eq(marks.count, LOSS_MARKS);
  const loss_mark *last = &marks.rows[LOSS_MARKS - 1];
  cr_assert(last->first == 10 * (LOSS_MARKS - 1) && last->last == 100010 && last->count == 5);
  cr_assert_eq(last->tid, LOSS_NO_THREAD, "of two threads by now");
}

PD_TEST(recorder, ranges_deeper_than_the_stack_are_counted) {
  rig self;
  enum { DEEP = THREAD_MAX_DEPTH + 5 };
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  for (uint64_t i = 0; i < DEEP; i++) rig_begin_at(&self, 2001 + i, "deep", PD_RANGE_USER);
  for (uint64_t i = 0; i < DEEP; i++) rig_end_at(&self, 4000 + i);
  rig_begin_at(&self, 5000, "after", PD_RANGE_USER);
  rig_end_at(&self, 5010);
  rig_step_at(&self, 6000, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->losses[PD_LOSS_RANGES_FULL], 5);
  cr_assert_eq(trace->losses[PD_LOSS_UNBALANCED], 0);
  cr_assert_eq(trace->ranges.count, THREAD_MAX_DEPTH + 1);
  assert_range(trace, THREAD_MAX_DEPTH - 1, "deep", THREAD_MAX_DEPTH, 2005, THREAD_MAX_DEPTH - 2, THREAD_MAX_DEPTH - 1,
               0);
  assert_range(trace, THREAD_MAX_DEPTH, "after", 3000, 3010, PD_NONE, 0, 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, a_full_buffer_is_counted_and_recording_goes_on) {
  enum { ROOM = 2 * ((CHUNK_BYTES - CHUNK_HEAD) / sizeof(raw_range)), GIVEN = 5000 };
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 2 * CHUNK_BYTES, .profile_memory = true});
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2000, "outer", PD_RANGE_USER);
  for (uint64_t i = 0; i < GIVEN; i++) {
    rig_begin_at(&self, 2001 + 2 * i, "inner", PD_RANGE_OP);
    rig_end_at(&self, 2002 + 2 * i);
  }
  rig_end_at(&self, 20000);
  self.record->counter(self.record, self.record->intern(self.record, "queue"), 1.0);
  self.record->memory(self.record, &(pd_memory_event){.bytes = 1});
  rig_give(&self, rig_kernel(&self, "k", 1, 5, 6));
  rig_step_at(&self, 20001, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, ROOM);
  cr_assert_eq(trace->losses[PD_LOSS_RANGES_FULL], GIVEN + 1 - ROOM);
  cr_assert_eq(trace->losses[PD_LOSS_MEMORY_FULL], 2);
  cr_assert_eq(trace->losses[PD_LOSS_RECORDS_DROPPED], 1);
  /* Where: from the end of the first range that found no room to that of the last, on this thread. */
  cr_assert_eq(trace->loss_rows.count, 3);
  const pd_loss_row *full = PD_AT(pd_loss_row, &trace->loss_rows, 0);
  cr_assert_eq(full->loss, PD_LOSS_RANGES_FULL);
  cr_assert_eq(full->count, GIVEN + 1 - ROOM);
  cr_assert_eq(full->start_ns, 2 + 2 * (int64_t)ROOM);
  cr_assert_eq(full->end_ns, 18000);
  cr_assert_eq(full->thread, 0);
  for (uint64_t i = 0; i < ROOM; i++)
    assert_range(trace, i, "inner", 1 + 2 * (int64_t)i, 2 + 2 * (int64_t)i, PD_NONE, 0, 0);
  trace_free(trace);
  /* The next window has the room again. */
  rig_window_at(&self, 30000, 1);
  rig_begin_at(&self, 30001, "again", PD_RANGE_USER);
  rig_end_at(&self, 30002);
  rig_step_at(&self, 30003, 1);
  trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 1);
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, chunks_come_back_window_after_window) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 8 * CHUNK_BYTES, .record_shapes = true});
  const pd_shape shapes[3] = {{1, PD_F32, {1}}, {1, PD_F32, {2}}, {1, PD_F32, {3}}};
  uint32_t name = self.record->intern(self.record, "x");
  uint64_t now = 2000;
  for (uint32_t window = 0; window < 40; window++) {
    rig_window_at(&self, ++now, window);
    for (uint32_t i = 0; i < 900; i++) {
      const pd_range_info info = {.size = sizeof info, .flops = i + 1, .shape_count = 1 + i % 3, .shapes = shapes};
      rig_at(&self, ++now);
      self.record->begin(self.record, name, PD_RANGE_USER, &info);
      rig_end_at(&self, ++now);
    }
    rig_step_at(&self, ++now, window);
    pd_trace *trace = rig_finish(&self);
    assert_no_losses(trace);
    cr_assert_eq(trace->ranges.count, 900);
    for (uint32_t i = 0; i < 900; i++) {
      cr_assert_eq(range_at(trace, i)->flops, i + 1);
      cr_assert_eq(range_at(trace, i)->shape_count, 1 + i % 3);
      const pd_shape *got = PD_AT(pd_shape, &trace->shapes, range_at(trace, i)->shape_first);
      cr_assert_eq(memcmp(got, shapes, (1 + i % 3) * sizeof shapes[0]), 0);
    }
    trace_free(trace);
  }
  rig_close(&self);
}

PD_TEST(recorder, memory_events_and_counters_have_time_and_place) {
  rig self;
  rig_open(&self, plain);
  recorder_enable(self.recorder, false);
  self.record->memory(self.record, &(pd_memory_event){.bytes = 99});
  self.record->counter(self.record, 1, 99);
  recorder_enable(self.recorder, true);
  rig_window_at(&self, 2000, 0);
  uint32_t queue = self.record->intern(self.record, "DataLoader queue");
  rig_at(&self, 2005);
  self.record->memory(self.record, &(pd_memory_event){.address = 1, .bytes = 64, .duration_ticks = 3});
  rig_begin_at(&self, 2010, "outer", PD_RANGE_USER);
  rig_begin_at(&self, 2020, "module", PD_RANGE_MODULE);
  rig_at(&self, 2025);
  self.record->memory(self.record, &(pd_memory_event){.address = 2, .bytes = 128, .duration_ticks = UINT64_MAX});
  self.record->counter(self.record, queue, 1.5);
  rig_end_at(&self, 2030);
  rig_at(&self, 2030);
  self.record->memory(self.record, &(pd_memory_event){.address = 2, .bytes = -128});
  rig_end_at(&self, 2040);
  rig_step_at(&self, 2050, 0);
  self.record->memory(self.record, &(pd_memory_event){.address = 3, .bytes = 1}); /* at the end: outside */
  self.record->counter(self.record, queue, 2.5);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->memory.count, 3);
  const pd_memory_row *first = PD_AT(pd_memory_row, &trace->memory, 0);
  const pd_memory_row *second = PD_AT(pd_memory_row, &trace->memory, 1);
  const pd_memory_row *third = PD_AT(pd_memory_row, &trace->memory, 2);
  cr_assert_eq(first->ts_ns, 5);
  cr_assert_eq(first->range, PD_NONE);
  cr_assert_eq(first->step, 0);
  cr_assert_eq(first->duration_ns, 3);
  cr_assert_eq(first->event.bytes, 64);
  cr_assert_eq(second->range, 1, "modules count here");
  cr_assert_eq(second->event.address, 2);
  cr_assert_eq(third->ts_ns, 30);
  cr_assert_eq(third->range, 0, "a range that ends at that very moment holds it no more");
  cr_assert_eq(trace->counters.count, 1);
  const pd_counter_row *counter = PD_AT(pd_counter_row, &trace->counters, 0);
  cr_assert_eq(counter->ts_ns, 25);
  cr_assert_eq(counter->value, 1.5);
  cr_assert_str_eq(trace_text(trace, counter->name), "DataLoader queue");
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, memory_events_are_kept_only_where_asked_for) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 1 << 20});
  rig_window_at(&self, 2000, 0);
  self.record->memory(self.record, &(pd_memory_event){.bytes = 1});
  rig_step_at(&self, 2050, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->memory.count, 0);
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, calls_out_of_order_are_refused) {
  rig self;
  pd_trace *trace = NULL;
  const recorder_window window = {0};
  const recorder_step step = {.start_ticks = 10, .end_ticks = 20};
  rig_open(&self, plain);
  cr_assert_eq(recorder_step_done(self.recorder, &step), PD_INVALID);
  cr_assert_eq(recorder_window_end(self.recorder, &window, &trace), PD_INVALID);
  cr_assert_null(trace);
  rig_window_at(&self, 2000, 0);
  cr_assert_eq(recorder_step_done(self.recorder, &(recorder_step){.start_ticks = 20, .end_ticks = 10}), PD_INVALID);
  cr_assert_eq(recorder_step_done(self.recorder, &step), PD_OK);
  cr_assert_eq(recorder_step_done(self.recorder, &step), PD_INVALID, "a step may not begin before the last one's end");
  rig_close(&self);
}

PD_TEST(recorder, a_window_without_a_step_ends_now) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "x", PD_RANGE_USER);
  rig_at(&self, 2500);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->end_ns, 500);
  cr_assert_eq(trace->steps.count, 0);
  assert_range(trace, 0, "x", 10, 500, PD_NONE, 0, PD_NONE);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, what_the_loop_knows_is_in_the_trace) {
  rig self;
  const double losses[2] = {6.9, 6.5};
  const pd_device_props device = {.size = sizeof device, .name = "CPU"};
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  const recorder_step steps[2] = {{7, 2000, 2100, 2010, 2090, 10, 80}, {8, 2100, 2300, 2120, 2290, 20, 170}};
  cr_assert_eq(recorder_step_done(self.recorder, &steps[0]), PD_OK);
  cr_assert_eq(recorder_step_done(self.recorder, &steps[1]), PD_OK);
  self.record->lost(self.record, PD_LOSS_RECORDS_DROPPED, 5);
  self.record->lost(self.record, 4711, 5);
  pd_trace *trace = NULL;
  const recorder_window end = {.profile = PD_PROFILE_EVENTS,
                               .sync_timing = true,
                               .profile_note = "no CUPTI",
                               .device = &device,
                               .losses = losses};
  cr_assert_eq(recorder_window_end(self.recorder, &end, &trace), PD_OK);
  const pd_trace_step *second = step_row_at(trace, 1);
  cr_assert_eq(second->number, 8);
  cr_assert_eq(second->start_ns, 100);
  cr_assert_eq(second->end_ns, 300);
  cr_assert_eq(second->train_start_ns, 120);
  cr_assert_eq(second->train_end_ns, 290);
  cr_assert_eq(second->data_wait_ns, 20);
  cr_assert_eq(second->step_time_ns, 170);
  cr_assert_eq(second->loss, 6.5);
  cr_assert_eq(trace->profile, PD_PROFILE_EVENTS);
  cr_assert_eq(trace->sync_timing, 1);
  cr_assert_str_eq(trace->profile_note, "no CUPTI");
  cr_assert_eq(trace->device, &device);
  cr_assert_eq(trace->losses[PD_LOSS_RECORDS_DROPPED], 5);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, a_step_of_the_system_clock_is_counted) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 1000000, 0);
  rig_begin_at(&self, 1100000, "x", PD_RANGE_USER);
  atomic_store(&self.offset, 5000000);
  rig_end_at(&self, 1900000);
  rig_step_at(&self, 2000000, 0);
  pd_trace *trace = rig_finish(&self);
  assert_range(trace, 0, "x", 100000, 900000, PD_NONE, 0, 0);
  cr_assert_eq(trace->losses[PD_LOSS_CLOCK_STEP], 1);
  trace_free(trace);
  rig_close(&self);
}
