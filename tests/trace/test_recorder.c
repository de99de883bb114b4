/* The recorder from outside: ranges, windows, threads. Times are exact: the test moves the clock. Losses, memory events
 * and steps are recorder_losses.c's. */
#include "recorder_rig.h"

#include <string.h>
#include <unistd.h>

static const recorder_options plain = {.max_bytes = 16 << 20, .record_shapes = true, .profile_memory = true};

PD_TEST(recorder, ranges_nest_by_begin_and_end) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 3);
  rig_begin_at(&self, 2010, "train_step", PD_RANGE_USER);
  rig_begin_at(&self, 2020, "conv2d", PD_RANGE_OP);
  rig_begin_at(&self, 2030, "conv2d", PD_RANGE_OP_INNER); /* the name again, inside itself */
  rig_end_at(&self, 2040);
  rig_end_at(&self, 2050);
  rig_begin_at(&self, 2060, "relu", PD_RANGE_OP);
  rig_end_at(&self, 2065);
  rig_end_at(&self, 2070);
  rig_step_at(&self, 2080, 17);
  rig_begin_at(&self, 2090, "next", PD_RANGE_USER);
  rig_end_at(&self, 2100);
  rig_step_at(&self, 2110, 18);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->window, 3);
  cr_assert_eq(trace->base_ns, RIG_REALTIME + 2000);
  cr_assert_eq(trace->start_ns, 0);
  cr_assert_eq(trace->end_ns, 110);
  cr_assert_eq(trace->pid, (uint32_t)getpid());
  cr_assert_eq(trace->profile, PD_PROFILE_FULL);
  cr_assert_eq(trace->ranges.count, 5);
  assert_range(trace, 0, "train_step", 10, 70, PD_NONE, 0, 0);
  assert_range(trace, 1, "conv2d", 20, 50, 0, 1, 0);
  assert_range(trace, 2, "conv2d", 30, 40, 1, 2, 0);
  assert_range(trace, 3, "relu", 60, 65, 0, 1, 0);
  assert_range(trace, 4, "next", 90, 100, PD_NONE, 0, 1);
  cr_assert_eq(range_at(trace, 2)->kind, PD_RANGE_OP_INNER);
  cr_assert_eq(trace->steps.count, 2);
  cr_assert_eq(step_row_at(trace, 1)->number, 18);
  cr_assert_eq(step_row_at(trace, 1)->start_ns, 80);
  cr_assert_eq(step_row_at(trace, 1)->end_ns, 110);
  cr_assert(step_row_at(trace, 1)->loss != step_row_at(trace, 1)->loss, "the loss was not read");
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, details_of_a_range_reach_its_row) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  const pd_shape shapes[2] = {{4, PD_F32, {64, 3, 224, 224}}, {0, PD_I64, {0}}};
  const pd_range_info forward = {.size = sizeof forward, .part = PD_PART_FORWARD};
  const pd_range_info info = {.size = sizeof info,
                              .flops = 123456789012,
                              .sequence = 9,
                              .backward = 1,
                              .module = self.record->intern(self.record, "SimpleCNN.conv1"),
                              .shape_count = 2,
                              .shapes = shapes};
  uint32_t name = self.record->intern(self.record, "conv");
  rig_at(&self, 2010);
  self.record->begin(self.record, name, PD_RANGE_USER, &forward);
  rig_at(&self, 2020);
  self.record->begin(self.record, name, PD_RANGE_OP, &info);
  rig_begin_at(&self, 2025, "deep", PD_RANGE_OP);
  rig_end_at(&self, 2028);
  rig_end_at(&self, 2030);
  rig_end_at(&self, 2040);
  rig_begin_at(&self, 2050, "none", PD_RANGE_OP);
  rig_end_at(&self, 2055);
  rig_step_at(&self, 2060, 0);
  pd_trace *trace = rig_finish(&self);
  const pd_range *row = range_at(trace, 1);
  cr_assert_eq(row->flops, 123456789012);
  cr_assert_eq(row->sequence, 9);
  cr_assert_eq(row->backward, 1);
  cr_assert_str_eq(trace_text(trace, row->module), "SimpleCNN.conv1");
  cr_assert_eq(row->shape_count, 2);
  cr_assert_eq(memcmp(PD_AT(pd_shape, &trace->shapes, row->shape_first), shapes, sizeof shapes), 0);
  cr_assert_eq(range_at(trace, 0)->part, PD_PART_FORWARD);
  cr_assert_eq(row->part, PD_PART_FORWARD, "the part comes from the parent");
  cr_assert_eq(range_at(trace, 2)->part, PD_PART_FORWARD, "and from the parent's parent");
  cr_assert_eq(range_at(trace, 3)->part, PD_PART_NONE);
  cr_assert_eq(range_at(trace, 3)->shape_count, 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, shapes_are_kept_only_where_asked_for) {
  rig self;
  const pd_shape shape = {1, PD_F32, {5}};
  const pd_range_info info = {.size = sizeof info, .flops = 7, .shape_count = 1, .shapes = &shape};
  rig_open(&self, (recorder_options){.max_bytes = 1 << 20});
  rig_window_at(&self, 2000, 0);
  self.record->begin(self.record, self.record->intern(self.record, "x"), PD_RANGE_OP, &info);
  rig_end_at(&self, 2010);
  rig_step_at(&self, 2020, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(range_at(trace, 0)->shape_count, 0);
  cr_assert_eq(range_at(trace, 0)->flops, 7);
  cr_assert_eq(trace->shapes.count, 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, ranges_are_cut_at_the_windows_edges) {
  rig self;
  const pd_range_info info = {.size = sizeof info, .flops = 11};
  rig_open(&self, plain);
  rig_begin_at(&self, 1100, "gone", PD_RANGE_USER);
  rig_end_at(&self, 1200);
  rig_at(&self, 1300);
  self.record->begin(self.record, self.record->intern(self.record, "outer"), PD_RANGE_USER, &info);
  rig_begin_at(&self, 1400, "over the beginning", PD_RANGE_USER);
  rig_window_at(&self, 2000, 0);
  rig_end_at(&self, 2010);
  rig_begin_at(&self, 2020, "over the end", PD_RANGE_OP);
  rig_step_at(&self, 2030, 0);
  rig_begin_at(&self, 2031, "after the end", PD_RANGE_OP);
  rig_end_at(&self, 2032);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 3);
  assert_range(trace, 0, "outer", 0, 30, PD_NONE, 0, 0);
  assert_range(trace, 1, "over the beginning", 0, 10, 0, 1, 0);
  assert_range(trace, 2, "over the end", 20, 30, 0, 1, 0);
  cr_assert_eq(range_at(trace, 0)->flops, 11);
  assert_no_losses(trace);
  trace_free(trace);
  /* The same two ranges, still open, in the next window; its details too. */
  rig_window_at(&self, 3000, 1);
  rig_end_at(&self, 3010);
  rig_step_at(&self, 3020, 1);
  rig_end_at(&self, 3030); /* between the end of the window and the look at it */
  trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 2);
  assert_range(trace, 0, "outer", 0, 20, PD_NONE, 0, 0);
  assert_range(trace, 1, "over the end", 0, 10, 0, 1, 0);
  cr_assert_eq(range_at(trace, 0)->flops, 11);
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

/* Details are dropped as windows go by, but not those of ranges still open, however much came after them. */
PD_TEST(recorder, an_open_range_keeps_its_details_over_windows) {
  const pd_shape shapes[2] = {{1, PD_F32, {41}}, {1, PD_F32, {42}}};
  pd_range_info info = {.size = sizeof info, .flops = 1000, .shape_count = 2, .shapes = shapes};
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 16 << 20, .record_shapes = true, .with_stack = true});
  uint32_t name = self.record->intern(self.record, "x");
  rig_at(&self, 1500);
  info.flops = 1;
  self.record->begin(self.record, name, PD_RANGE_OP, &info); /* over before the first window */
  self.record->end(self.record);
  info.flops = 1000;
  self.record->begin(self.record, name, PD_RANGE_OP, &info);
  info.shapes = &shapes[1];
  info.shape_count = 1;
  for (uint32_t window = 0; window < 3; window++) {
    uint64_t base = 2000 + 10000 * window;
    for (uint64_t i = 0; i < 5; i++) { /* of before the window: dropped */
      rig_at(&self, base - 10 + i);
      info.flops = 5000 + i;
      self.record->begin(self.record, name, PD_RANGE_OP, &info);
      self.record->end(self.record);
    }
    rig_window_at(&self, base, window);
    for (uint64_t i = 0; i < 3; i++) {
      rig_at(&self, base + 10 * i + 10);
      info.flops = 2000 + i;
      self.record->begin(self.record, name, PD_RANGE_OP, &info);
      rig_end_at(&self, base + 10 * i + 15);
    }
    rig_step_at(&self, base + 100, window);
    pd_trace *trace = rig_finish(&self);
    cr_assert_eq(trace->ranges.count, 4);
    cr_assert_eq(range_at(trace, 0)->flops, 1000, "window %u", window);
    cr_assert_eq(range_at(trace, 0)->shape_count, 2);
    cr_assert_eq(PD_AT(pd_shape, &trace->shapes, range_at(trace, 0)->shape_first)->dims[0], 41);
    cr_assert_neq(range_at(trace, 0)->stack, PD_NONE, "window %u", window);
    for (uint64_t i = 0; i < 3; i++) {
      const pd_range *row = range_at(trace, 1 + i);
      cr_assert_eq(row->flops, 2000 + i);
      cr_assert_eq(PD_AT(pd_shape, &trace->shapes, row->shape_first)->dims[0], 42);
      cr_assert_neq(row->stack, PD_NONE);
    }
    assert_no_losses(trace);
    trace_free(trace);
  }
  rig_end_at(&self, 40000);
  rig_window_at(&self, 50000, 3);
  cr_assert_leq(chunk_list_count(&thread_current.thread->infos), 1, "now they are gone");
  cr_assert_leq(chunk_list_count(&thread_current.thread->stacks), 1);
  cr_assert_leq(chunk_list_count(&thread_current.thread->shapes), 2);
  rig_close(&self);
}

PD_TEST(recorder, a_threads_time_never_runs_backwards) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2050, "a", PD_RANGE_USER);
  rig_begin_at(&self, 2020, "b", PD_RANGE_USER); /* on a processor whose counter is behind */
  rig_end_at(&self, 2030);
  rig_end_at(&self, 2060);
  rig_step_at(&self, 2100, 0);
  pd_trace *trace = rig_finish(&self);
  assert_range(trace, 0, "a", 50, 60, PD_NONE, 0, 0);
  assert_range(trace, 1, "b", 50, 50, 0, 1, 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(recorder, a_window_may_toggle_between_begin_and_end) {
  static pd_site site = PD_SITE("toggled", PD_RANGE_USER);
  rig self;
  rig_open(&self, plain);
  rig_at(&self, 1500);
  bool first = pd_range_begin(self.record, &site, NULL);
  recorder_enable(self.recorder, false);
  bool second = pd_range_begin(self.record, &site, NULL);
  cr_assert(first);
  cr_assert_not(second);
  rig_window_at(&self, 2000, 0);
  recorder_enable(self.recorder, true);
  pd_range_end(self.record, second);
  rig_at(&self, 2010);
  bool third = pd_range_begin(self.record, &site, NULL);
  recorder_enable(self.recorder, false);
  rig_at(&self, 2020);
  pd_range_end(self.record, third);
  pd_range_end(self.record, first);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 2);
  assert_range(trace, 0, "toggled", 0, 20, PD_NONE, 0, 0);
  assert_range(trace, 1, "toggled", 10, 20, 0, 1, 0);
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}
