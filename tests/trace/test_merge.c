/*
 * Merging, against a slow reference: random threads, ranges, calls and records; the reference knows the tree from
 * having opened and closed the ranges itself and looks everything else up by going through all rows.
 */
#include "recorder_rig.h"
#include "trace/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 24000, THREADS = 3, RANGES = 40, CALLS = 16, DEVICES = 24, EVENTS = 12, STEPS = 4 };
enum { FIRST_NAME = 1000, ORIGIN = 100000 /* tick at which the clock's first point lies; every case is near it */ };

typedef struct known_range {
  raw_range raw;
  uint32_t parent; /* index into the case's ranges of its thread, or PD_NONE */
  bool lost;       /* its record did not fit the buffer */
} known_range;

typedef struct known_thread {
  known_range ranges[RANGES]; /* in the order of opening; names tell them apart */
  uint32_t count;
  raw_range ended[RANGES];
  uint32_t ended_count;
  raw_memory memory[EVENTS];
  uint32_t memory_count;
} known_thread;

typedef struct known_case {
  known_thread threads[THREADS];
  window_thread windows[THREADS];
  raw_call calls[CALLS];
  raw_device devices[DEVICES];
  recorder_step steps[STEPS];
  window_input input;
  raw_fate fates[CALLS + DEVICES];
} known_case;

static uint64_t seed;
static uint64_t random_below(uint64_t bound) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (seed >> 11) % bound;
}
static bool one_in(uint64_t n) { return random_below(n) == 0; }

static pd_range_kind random_kind(void) { return (pd_range_kind)(1 + random_below(7)); }

/* Opens and closes ranges at random. With `ties` many stamps are equal; otherwise none are, and some records are lost.
 */
static void make_thread(known_thread *thread, uint32_t name, bool ties, uint64_t now) {
  uint32_t stack[RANGES], depth = 0, count = (uint32_t)random_below(RANGES + 1);
  thread->count = thread->ended_count = thread->memory_count = 0;
  while (thread->count < count || depth) {
    now += ties ? random_below(3) / 2 : 1 + random_below(3);
    if (one_in(6) && thread->memory_count < EVENTS) {
      thread->memory[thread->memory_count] = (raw_memory){.ticks = now, .event = {.bytes = thread->memory_count + 1}};
      thread->memory_count++;
    } else if (thread->count < count && (!depth || one_in(2))) {
      known_range *range = &thread->ranges[thread->count];
      *range = (known_range){.raw = {.start = now,
                                     .name = name + thread->count,
                                     .kind = (uint16_t)random_kind(),
                                     .depth = (uint16_t)depth,
                                     .info = PD_NONE,
                                     .stack = PD_NONE},
                             .parent = depth ? stack[depth - 1] : PD_NONE,
                             .lost = !ties && one_in(5)};
      stack[depth++] = thread->count++;
    } else if (depth) {
      known_range *range = &thread->ranges[stack[--depth]];
      range->raw.end = now;
      if (!range->lost) thread->ended[thread->ended_count++] = range->raw;
    }
  }
}

static void make_case(known_case *known, const trace_clock *clock, string_table *strings, bool ties) {
  static const recorder_window end = {.profile = PD_PROFILE_FULL};
  uint64_t start = ORIGIN + random_below(30), at = start;
  memset(known, 0, sizeof *known);
  uint32_t steps = 1 + (uint32_t)random_below(STEPS);
  for (uint32_t i = 0; i < steps; i++) {
    uint64_t next = at + random_below(25) + (i + 1 == steps);
    known->steps[i] = (recorder_step){.number = i, .start_ticks = at, .end_ticks = next};
    at = next;
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    known_thread *thread = &known->threads[i];
    make_thread(thread, FIRST_NAME + i * RANGES, ties, ORIGIN + random_below(20));
    known->windows[i] = (window_thread){.tid = 10 * (i + 1),
                                        .ranges = thread->ended,
                                        .range_count = thread->ended_count,
                                        .memory = thread->memory,
                                        .memory_count = thread->memory_count};
  }
  uint64_t calls = random_below(CALLS + 1), devices = random_below(DEVICES + 1);
  for (uint64_t i = 0; i < calls; i++) {
    int64_t time = (int64_t)(ORIGIN + random_below(120));
    /* Thread 40 has recorded nothing. Ids are distinct, but for those of none. */
    known->calls[i] = (raw_call){.start = time,
                                 .end = time + (int64_t)random_below(5),
                                 .correlation = one_in(8) ? 0 : (i + 1) * 7,
                                 .thread = 10 * (1 + (uint32_t)random_below(4)),
                                 .kind = PD_ACTIVITY_RUNTIME,
                                 .clock = PD_CLOCK_TICKS,
                                 .name = (uint32_t)i,
                                 .api = (uint16_t)random_below(8),
                                 .result = one_in(6) ? 1 : 0};
    if (one_in(2)) {
      known->calls[i].clock = PD_CLOCK_REALTIME;
      known->calls[i].start += RIG_REALTIME;
      known->calls[i].end += RIG_REALTIME;
    }
  }
  for (uint64_t i = 0; i < devices; i++) {
    int64_t time = (int64_t)(ORIGIN + random_below(200));
    known->devices[i] = (raw_device){.activity = {.kind = PD_ACTIVITY_KERNEL,
                                                  .name = (uint32_t)i,
                                                  .start = time,
                                                  .end = time + (int64_t)random_below(9),
                                                  .stream = (uint32_t)random_below(3),
                                                  .correlation = random_below(CALLS + 3) * 7},
                                     .clock = PD_CLOCK_TICKS};
    if (one_in(15)) known->devices[i].activity.start = 0;
    if (one_in(15)) known->devices[i].activity.end = time - 1;
  }
  known->input = (window_input){.clock = clock,
                                .strings = strings,
                                .loop_tid = 10 * (1 + (uint32_t)random_below(4)),
                                .start_ticks = start,
                                .end_ticks = at,
                                .threads = known->windows,
                                .thread_count = THREADS,
                                .calls = known->calls,
                                .call_count = calls,
                                .devices = known->devices,
                                .device_count = devices,
                                .steps = known->steps,
                                .step_count = steps,
                                .end = &end};
}

static pd_trace *merge_case(known_case *known) {
  pd_trace *trace = NULL;
  cr_assert_eq(merge_window(&known->input, known->fates, known->fates + known->input.call_count, &trace), PD_OK);
  return trace;
}

static bool overlaps(const known_case *known, const raw_range *range) {
  uint64_t from = known->input.start_ticks, to = known->input.end_ticks;
  if (range->start >= to) return false;
  return range->start >= from || range->end > from;
}

static uint32_t expected_step(const known_case *known, int64_t time) {
  for (uint32_t i = 0; i < known->input.step_count; i++)
    if ((int64_t)known->steps[i].start_ticks <= time + (int64_t)known->input.start_ticks &&
        time + (int64_t)known->input.start_ticks < (int64_t)known->steps[i].end_ticks)
      return i;
  return PD_NONE;
}

static uint32_t row_of_name(const pd_trace *trace, uint32_t name) {
  for (uint32_t i = 0; i < trace->ranges.count; i++)
    if (range_at(trace, i)->name == name) return i;
  return PD_NONE;
}

static uint32_t tid_of(const pd_trace *trace, uint32_t thread) {
  return PD_AT(pd_thread, &trace->threads, thread)->tid;
}

static bool rows_in_order(const pd_trace *trace) {
  for (uint32_t i = 1; i < trace->ranges.count; i++) {
    const pd_range *a = range_at(trace, i - 1), *b = range_at(trace, i);
    const int64_t before[4] = {a->thread, a->start_ns, -a->end_ns, a->depth};
    const int64_t after[4] = {b->thread, b->start_ns, -b->end_ns, b->depth};
    int k = 0;
    while (k < 3 && before[k] == after[k]) k++;
    if (before[k] > after[k]) return false;
  }
  return true;
}

static void check_ranges(const known_case *known, const pd_trace *trace, unsigned number) {
  uint64_t kept = 0;
  cr_assert(rows_in_order(trace), "case %u: rows out of order", number);
  for (uint32_t t = 0; t < THREADS; t++) {
    const known_thread *thread = &known->threads[t];
    for (uint32_t i = 0; i < thread->count; i++) {
      const known_range *range = &thread->ranges[i];
      if (range->lost || !overlaps(known, &range->raw)) continue;
      kept++;
      uint32_t row = row_of_name(trace, range->raw.name), parent = range->parent, depth = 0;
      cr_assert_neq(row, PD_NONE, "case %u: range %u is missing", number, range->raw.name);
      while (parent != PD_NONE && (thread->ranges[parent].lost || !overlaps(known, &thread->ranges[parent].raw)))
        parent = thread->ranges[parent].parent;
      uint32_t expected = parent == PD_NONE ? PD_NONE : row_of_name(trace, thread->ranges[parent].raw.name);
      for (uint32_t up = range->parent; up != PD_NONE; up = thread->ranges[up].parent)
        depth += !thread->ranges[up].lost && overlaps(known, &thread->ranges[up].raw);
      const pd_range *got = range_at(trace, row);
      uint64_t from = known->input.start_ticks, to = known->input.end_ticks;
      cr_assert_eq(got->parent, expected, "case %u: range %u", number, range->raw.name);
      cr_assert_eq(got->depth, depth, "case %u: range %u", number, range->raw.name);
      cr_assert_eq(got->start_ns, range->raw.start < from ? 0 : (int64_t)(range->raw.start - from));
      cr_assert_eq(got->end_ns, (int64_t)((range->raw.end > to ? to : range->raw.end) - from));
      cr_assert_eq(got->kind, range->raw.kind);
      cr_assert_eq(tid_of(trace, got->thread), known->windows[t].tid);
      cr_assert_eq(got->step, expected_step(known, got->start_ns), "case %u: range %u", number, range->raw.name);
    }
  }
  cr_assert_eq(trace->ranges.count, kept, "case %u", number);
}

/* The deepest range of the wanted kinds that holds the time on that thread. */
static uint32_t innermost(const pd_trace *trace, uint32_t tid, int64_t time, bool ops, bool users, bool modules) {
  uint32_t found = PD_NONE;
  for (uint32_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = range_at(trace, i);
    bool op = range->kind == PD_RANGE_OP || range->kind == PD_RANGE_OP_INNER, module = range->kind == PD_RANGE_MODULE;
    if (tid_of(trace, range->thread) != tid || time < range->start_ns || time >= range->end_ns) continue;
    if (!((op && ops) || (module && modules) || (!op && !module && users))) continue;
    if (found == PD_NONE || range->depth >= range_at(trace, found)->depth) found = i;
  }
  return found;
}

static int64_t relative(const known_case *known, uint32_t clock, int64_t stamp) {
  return stamp - (clock == PD_CLOCK_REALTIME ? RIG_REALTIME : 0) - (int64_t)known->input.start_ticks;
}

static bool expects_record(const raw_call *call) {
  return !call->result && (call->api == PD_API_LAUNCH || call->api == PD_API_MEMCPY || call->api == PD_API_MEMSET ||
                           call->api == PD_API_GRAPH_LAUNCH);
}

static uint32_t call_row(const pd_trace *trace, uint32_t name) {
  for (uint32_t i = 0; i < trace->calls.count; i++)
    if (call_at(trace, i)->name == name) return i;
  return PD_NONE;
}

typedef struct expected_losses {
  uint64_t ambiguous, unmatched_launch, unmatched_activity, zero, implausible, corrected;
  int64_t corrected_ns;
} expected_losses;

enum { EARLY_NS = 50000 };

/* How much earlier than its call a record of the trace was stamped, the most of rows [0, row]. */
static int64_t expected_shift(const known_case *known, const pd_trace *trace, uint32_t row) {
  int64_t shift = 0;
  for (uint32_t k = 0; k <= row; k++) {
    const pd_device_row *got = device_at(trace, k);
    const raw_device *raw = &known->devices[got->name];
    if (got->call == PD_NONE) continue;
    const int64_t early = call_at(trace, got->call)->start_ns - relative(known, raw->clock, raw->activity.start);
    if (early > shift) shift = early;
  }
  return shift;
}

static void check_calls(const known_case *known, const pd_trace *trace, unsigned number, expected_losses *losses) {
  int64_t end = (int64_t)(known->input.end_ticks - known->input.start_ticks);
  uint64_t kept = 0;
  for (uint32_t i = 0; i < known->input.call_count; i++) {
    const raw_call *call = &known->calls[i];
    int64_t start = relative(known, call->clock, call->start);
    uint32_t row = call_row(trace, i);
    bool inside = start >= 0 && start < end;
    cr_assert_eq(row != PD_NONE, inside, "case %u: call %u", number, i);
    cr_assert_eq(known->fates[i], inside ? FATE_KEPT : start >= end ? FATE_LATER : FATE_DROPPED);
    if (!inside) continue;
    kept++;
    const pd_call *got = call_at(trace, row);
    uint32_t holder = innermost(trace, call->thread, start, true, false, false);
    if (holder == PD_NONE) holder = innermost(trace, call->thread, start, false, true, false);
    cr_assert_eq(got->range, holder, "case %u: call %u at %lld: %u, not %u", number, i, (long long)start, got->range,
                 holder);
    cr_assert_eq(got->start_ns, start);
    cr_assert_eq(got->step, expected_step(known, start));
    cr_assert_eq(tid_of(trace, got->thread), call->thread);
    losses->ambiguous += expects_record(call) && holder == PD_NONE;
    losses->unmatched_launch += expects_record(call) && call->api != PD_API_MEMSET && !got->activity_count;
    if (row) cr_assert_leq(call_at(trace, row - 1)->start_ns, start);
  }
  cr_assert_eq(trace->calls.count, kept);
}

static void check_devices(const known_case *known, const pd_trace *trace, unsigned number, expected_losses *losses) {
  int64_t end = (int64_t)(known->input.end_ticks - known->input.start_ticks);
  uint64_t kept = 0;
  for (uint32_t i = 0; i < known->input.device_count; i++) {
    const pd_activity *activity = &known->devices[i].activity;
    int64_t start = relative(known, known->devices[i].clock, activity->start);
    uint32_t call = PD_NONE, row = PD_NONE;
    for (uint32_t k = 0; k < known->input.call_count; k++)
      if (activity->correlation && known->calls[k].correlation == activity->correlation) call = k;
    for (uint32_t k = 0; k < trace->activities.count; k++)
      if (device_at(trace, k)->name == i) row = k;
    bool zero = activity->start <= 0, backwards = activity->end < activity->start, shown = false;
    if (call == PD_NONE) {
      bool inside = start >= 0 && start < end;
      losses->unmatched_activity += zero || inside;
      losses->implausible += !zero && inside && backwards;
      shown = !zero && inside && !backwards;
    } else if (known->fates[call] == FATE_KEPT) {
      int64_t launched = relative(known, known->calls[call].clock, known->calls[call].start);
      losses->zero += zero;
      losses->implausible += !zero && (backwards || start < launched - EARLY_NS);
      shown = !zero && !backwards && start >= launched - EARLY_NS;
    }
    cr_assert_eq(row != PD_NONE, shown, "case %u: record %u", number, i);
    if (!shown) continue;
    kept++;
    const pd_device_row *got = device_at(trace, row);
    const int64_t shift = expected_shift(known, trace, row);
    losses->corrected += shift > 0;
    if (shift > losses->corrected_ns) losses->corrected_ns = shift;
    cr_assert_eq(got->start_ns, start + shift);
    cr_assert_eq(got->end_ns - got->start_ns, activity->end - activity->start);
    cr_assert_eq(got->call, call == PD_NONE ? PD_NONE : call_row(trace, call));
    cr_assert_eq(PD_AT(pd_stream_row, &trace->streams, got->stream)->stream, activity->stream);
    if (row) cr_assert_leq(device_at(trace, row - 1)->start_ns, got->start_ns);
    if (call == PD_NONE) continue;
    cr_assert_geq(got->start_ns, call_at(trace, got->call)->start_ns);
    const pd_call *its = call_at(trace, got->call);
    cr_assert_eq(got->range, its->range);
    cr_assert_eq(got->step, its->step);
    bool listed = false;
    for (uint32_t k = 0; k < its->activity_count; k++)
      listed |= *PD_AT(uint32_t, &trace->activities_by_call, its->activity_first + k) == row;
    cr_assert(listed, "case %u: record %u is not in its call's list", number, i);
  }
  cr_assert_eq(trace->activities.count, kept);
}

static void check_steps(const pd_trace *trace, unsigned number) {
  for (uint32_t s = 0; s < trace->steps.count; s++) {
    uint64_t launches = 0, matched = 0, rows = 0;
    for (uint32_t i = 0; i < trace->calls.count; i++) {
      const pd_call *call = call_at(trace, i);
      const bool empty = call->api == PD_API_MEMSET && !call->activity_count;
      const bool launch = !call->result && !empty && call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
      if (call->step == s) launches += launch, matched += launch && call->activity_count;
    }
    for (uint32_t i = 0; i < trace->activities.count; i++) rows += device_at(trace, i)->step == s;
    cr_assert_eq(step_row_at(trace, s)->launches, launches, "case %u, step %u", number, s);
    cr_assert_eq(step_row_at(trace, s)->matched, matched, "case %u, step %u", number, s);
    cr_assert_eq(step_row_at(trace, s)->device_rows, rows, "case %u, step %u", number, s);
  }
}

static void check_memory(const known_case *known, const pd_trace *trace, unsigned number) {
  uint64_t kept = 0;
  for (uint32_t t = 0; t < THREADS; t++)
    for (uint32_t i = 0; i < known->threads[t].memory_count; i++) {
      uint64_t ticks = known->threads[t].memory[i].ticks;
      kept += ticks >= known->input.start_ticks && ticks < known->input.end_ticks;
    }
  cr_assert_eq(trace->memory.count, kept, "case %u", number);
  for (uint32_t i = 0; i < kept; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &trace->memory, i);
    cr_assert_eq(row->range, innermost(trace, tid_of(trace, row->thread), row->ts_ns, true, true, true),
                 "case %u, memory event %u", number, i);
    cr_assert_eq(row->step, expected_step(known, row->ts_ns));
    if (i) cr_assert_leq(PD_AT(pd_memory_row, &trace->memory, i - 1)->ts_ns, row->ts_ns);
  }
}

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

PD_TEST_WITH(merge, random_windows_agree_with_the_slow_reference, .timeout = 110) {
  static known_case known;
  static rig self;
  trace_clock clock;
  string_table *strings;
  open_clock(&self, &clock);
  cr_assert_eq(strings_open(&strings), PD_OK);
  seed = 88172645463325252;
  for (unsigned i = 0; i < CASES; i++) {
    make_case(&known, &clock, strings, i % 2);
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
    trace_free(trace);
  }
  strings_close(strings);
  trace_clock_close(&clock);
}

PD_TEST_WITH(merge, the_order_of_arrival_leaves_no_mark, .timeout = 110) {
  static known_case known;
  static rig self;
  trace_clock clock;
  string_table *strings;
  open_clock(&self, &clock);
  cr_assert_eq(strings_open(&strings), PD_OK);
  seed = 1234567;
  for (unsigned i = 0; i < 3000; i++) {
    make_case(&known, &clock, strings, true);
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
