/*
 * Merging, against a slow reference: random threads, ranges, calls and records; the reference knows the tree from
 * having opened and closed the ranges itself and looks everything else up by going through all rows.
 */
#include "merge_known.h"

#include <string.h>

enum { CASES = 24000 };

static bool same_rows(const pd_array *a, const pd_array *b) {
  return a->count == b->count && a->stride == b->stride &&
         (!a->count || !memcmp(a->data, b->data, a->count * a->stride));
}

static bool same_trace(const pd_trace *a, const pd_trace *b) {
  return same_rows(&a->threads, &b->threads) && same_rows(&a->streams, &b->streams) &&
         same_rows(&a->ranges, &b->ranges) && same_rows(&a->calls, &b->calls) &&
         same_rows(&a->activities, &b->activities) && same_rows(&a->activities_by_call, &b->activities_by_call) &&
         same_rows(&a->others, &b->others) && same_rows(&a->memory, &b->memory) &&
         same_rows(&a->counters, &b->counters) && same_rows(&a->shapes, &b->shapes) &&
         !memcmp(a->losses, b->losses, sizeof a->losses);
}

static void shuffle(void *rows, uint64_t count, size_t bytes) {
  unsigned char *at = rows, swap[256];
  for (uint64_t i = count; i > 1; i--) {
    uint64_t k = random_below(i);
    memcpy(swap, at + (i - 1) * bytes, bytes);
    memcpy(at + (i - 1) * bytes, at + k * bytes, bytes);
    memcpy(at + k * bytes, swap, bytes);
  }
}

static void open_clock(rig *self, trace_clock *clock) {
  clock_source source = rig_source(self);
  rig_at(self, ORIGIN);
  atomic_init(&self->offset, 0);
  cr_assert_eq(trace_clock_open(clock, &source), PD_OK);
  cr_assert_eq(trace_clock_window_begin(clock), PD_OK);
}

static void agrees_with_the_reference(bool pauses) {
  static known_case known;
  static rig self;
  trace_clock clock;
  string_table *strings;
  open_clock(&self, &clock);
  cr_assert_eq(strings_open(&strings), PD_OK);
  seed = 88172645463325252;
  for (unsigned i = 0; i < CASES; i++) {
    make_case(&known, &clock, strings, i % 2, pauses);
    pd_trace *trace = merge_case(&known);
    expected_losses losses = {0};
    check_ranges(&known, trace, i);
    check_calls(&known, trace, i, &losses);
    check_devices(&known, trace, i, &losses);
    check_steps(trace, i);
    check_memory(&known, trace, i);
    cr_assert_eq(trace->losses[PD_LOSS_AMBIGUOUS], losses.ambiguous, "case %u", i);
    cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_LAUNCH], losses.unmatched_launch, "case %u", i);
    cr_assert_eq(trace->losses[PD_LOSS_UNMATCHED_ACTIVITY], losses.unmatched_activity, "case %u", i);
    cr_assert_eq(trace->losses[PD_LOSS_ZERO_TIMESTAMP], losses.zero, "case %u", i);
    cr_assert_eq(trace->losses[PD_LOSS_IMPLAUSIBLE], losses.implausible, "case %u", i);
    cr_assert_eq(trace->losses[PD_LOSS_TIME_CORRECTED], losses.corrected, "case %u", i);
    cr_assert_eq(trace->corrected_ns, losses.corrected_ns, "case %u", i);
    int64_t unrecorded_ns = 0;
    for (uint32_t k = 1; k < known.input.step_count; k++)
      unrecorded_ns += (int64_t)(known.steps[k].start_ticks - known.steps[k - 1].end_ticks);
    cr_assert_eq(trace->unrecorded_ns, unrecorded_ns, "case %u", i);
    cr_assert_eq(trace->end_ns, on_axis(&known, (int64_t)known.input.end_ticks), "case %u", i);
    trace_free(trace);
  }
  strings_close(strings);
  trace_clock_close(&clock);
}

PD_TEST_WITH(merge, random_windows_agree_with_the_slow_reference, .timeout = 110) { agrees_with_the_reference(false); }
PD_TEST_WITH(merge, random_windows_with_pauses_agree_with_it_too, .timeout = 110) { agrees_with_the_reference(true); }

PD_TEST_WITH(merge, the_order_of_arrival_leaves_no_mark, .timeout = 110) {
  static known_case known;
  static rig self;
  trace_clock clock;
  string_table *strings;
  open_clock(&self, &clock);
  cr_assert_eq(strings_open(&strings), PD_OK);
  seed = 1234567;
  for (unsigned i = 0; i < 3000; i++) {
    make_case(&known, &clock, strings, true, i % 3 == 0);
    /* Records that differ in one late field only, and some that do not differ at all. */
    for (uint64_t k = 1; k < known.input.device_count; k++)
      if (one_in(3)) {
        known.devices[k] = known.devices[k - 1];
        known.devices[k].activity.u.kernel.active_blocks = (uint32_t)random_below(2);
      }
    for (uint64_t k = 1; k < known.input.call_count; k++)
      if (one_in(3)) {
        known.calls[k] = known.calls[k - 1];
        known.calls[k].cbid = (uint32_t)random_below(3);
      }
    pd_trace *trace = merge_case(&known);
    for (int round = 0; round < 3; round++) {
      shuffle(known.calls, known.input.call_count, sizeof known.calls[0]);
      shuffle(known.devices, known.input.device_count, sizeof known.devices[0]);
      pd_trace *again = merge_case(&known);
      cr_assert(same_trace(trace, again), "case %u, round %d", i, round);
      trace_free(again);
    }
    trace_free(trace);
  }
  strings_close(strings);
  trace_clock_close(&clock);
}

PD_TEST(merge, ranges_of_one_moment_are_ordered_by_length_and_depth) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 1 << 20});
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "outer", PD_RANGE_USER);
  rig_begin_at(&self, 2010, "nothing", PD_RANGE_OP);
  rig_begin_at(&self, 2010, "less", PD_RANGE_OP_INNER);
  rig_end_at(&self, 2010);
  rig_end_at(&self, 2010);
  rig_begin_at(&self, 2010, "whole", PD_RANGE_OP);
  rig_begin_at(&self, 2010, "first part", PD_RANGE_OP_INNER);
  rig_end_at(&self, 2015);
  rig_begin_at(&self, 2015, "second part", PD_RANGE_OP_INNER);
  rig_end_at(&self, 2020);
  rig_end_at(&self, 2020);
  rig_end_at(&self, 2020);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 6);
  assert_range(trace, 0, "outer", 10, 20, PD_NONE, 0, 0);
  assert_range(trace, 1, "whole", 10, 20, 0, 1, 0);
  assert_range(trace, 2, "first part", 10, 15, 1, 2, 0);
  assert_range(trace, 3, "nothing", 10, 10, 0, 1, 0);
  assert_range(trace, 4, "less", 10, 10, 3, 2, 0);
  assert_range(trace, 5, "second part", 15, 20, 1, 2, 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(merge, two_threads_do_not_mix) {
  static rig self;
  trace_clock clock;
  string_table *strings;
  open_clock(&self, &clock);
  cr_assert_eq(strings_open(&strings), PD_OK);
  raw_range first[2] = {{ORIGIN + 20, ORIGIN + 30, 1, PD_RANGE_OP, 1, PD_NONE, PD_NONE},
                        {ORIGIN + 10, ORIGIN + 40, 2, PD_RANGE_USER, 0, PD_NONE, PD_NONE}};
  raw_range second[1] = {{ORIGIN + 22, ORIGIN + 28, 3, PD_RANGE_WORKER, 0, PD_NONE, PD_NONE}};
  window_thread threads[2] = {{.tid = 5, .ranges = second, .range_count = 1},
                              {.tid = 9, .ranges = first, .range_count = 2}};
  const recorder_window end = {0};
  window_input input = {.clock = &clock,
                        .strings = strings,
                        .loop_tid = 9,
                        .start_ticks = ORIGIN,
                        .end_ticks = ORIGIN + 100,
                        .threads = threads,
                        .thread_count = 2,
                        .end = &end};
  pd_trace *trace;
  cr_assert_eq(merge_window(&input, NULL, NULL, &trace), PD_OK);
  cr_assert_eq(trace->threads.count, 2);
  cr_assert_eq(tid_of(trace, 0), 9, "the loop's thread is the first");
  cr_assert_eq(tid_of(trace, 1), 5);
  cr_assert_eq(trace->ranges.count, 3);
  cr_assert_eq(range_at(trace, 1)->parent, 0);
  cr_assert_eq(range_at(trace, 2)->name, 3);
  cr_assert_eq(range_at(trace, 2)->thread, 1);
  cr_assert_eq(range_at(trace, 2)->parent, PD_NONE);
  cr_assert_eq(range_at(trace, 2)->step, PD_NONE, "no step was done");
  trace_free(trace);
  strings_close(strings);
  trace_clock_close(&clock);
}
