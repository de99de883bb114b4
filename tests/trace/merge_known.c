/* See merge_known.h. */
#include "merge_known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t seed;

uint64_t random_below(uint64_t bound) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (seed >> 11) % bound;
}
bool one_in(uint64_t n) { return random_below(n) == 0; }

pd_range_kind random_kind(void) { return (pd_range_kind)(1 + random_below(7)); }

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

void make_case(known_case *known, const trace_clock *clock, string_table *strings, bool ties, bool pauses) {
  static const recorder_window end = {.profile = PD_PROFILE_FULL};
  uint64_t start = ORIGIN + random_below(30), at = start;
  memset(known, 0, sizeof *known);
  uint32_t steps = 1 + (uint32_t)random_below(STEPS);
  for (uint32_t i = 0; i < steps; i++) {
    uint64_t next = at + random_below(25) + (i + 1 == steps);
    known->steps[i] = (recorder_step){.number = i, .start_ticks = at, .end_ticks = next};
    at = next;
    if (pauses && i + 1 < steps) at += random_below(20);
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

pd_trace *merge_case(known_case *known) {
  pd_trace *trace = NULL;
  cr_assert_eq(merge_window(&known->input, known->fates, known->fates + known->input.call_count, &trace), PD_OK);
  return trace;
}

/* The pause that holds a tick, by the step before it; PD_NONE: none does. */
static uint32_t pause_of(const known_case *known, int64_t ticks) {
  for (uint32_t i = 0; i + 1 < known->input.step_count; i++)
    if ((int64_t)known->steps[i].end_ticks <= ticks && ticks < (int64_t)known->steps[i + 1].start_ticks) return i;
  return PD_NONE;
}

/* A tick on the axis of the trace: ticks since the window's start that lie in no pause. */
int64_t on_axis(const known_case *known, int64_t ticks) {
  const int64_t start = (int64_t)known->input.start_ticks;
  if (ticks < start) return ticks - start;
  int64_t at = 0;
  for (int64_t i = start; i < ticks; i++) at += pause_of(known, i) == PD_NONE;
  return at;
}

static bool overlaps(const known_case *known, const raw_range *range) {
  uint64_t from = known->input.start_ticks, to = known->input.end_ticks;
  if (range->start >= to) return false;
  const uint32_t pause = pause_of(known, (int64_t)range->start);
  if (pause != PD_NONE && range->end <= known->steps[pause + 1].start_ticks) return false;
  return range->start >= from || range->end > from;
}

/* The step that a time of the trace lies in. */
static uint32_t expected_step(const known_case *known, int64_t time) {
  for (uint32_t i = 0; i < known->input.step_count; i++)
    if (on_axis(known, (int64_t)known->steps[i].start_ticks) <= time &&
        time < on_axis(known, (int64_t)known->steps[i].end_ticks))
      return i;
  return PD_NONE;
}

static uint32_t row_of_name(const pd_trace *trace, uint32_t name) {
  for (uint32_t i = 0; i < trace->ranges.count; i++)
    if (range_at(trace, i)->name == name) return i;
  return PD_NONE;
}

uint32_t tid_of(const pd_trace *trace, uint32_t thread) { return PD_AT(pd_thread, &trace->threads, thread)->tid; }

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

void check_ranges(const known_case *known, const pd_trace *trace, unsigned number) {
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
      cr_assert_eq(got->start_ns, range->raw.start < from ? 0 : on_axis(known, (int64_t)range->raw.start));
      cr_assert_eq(got->end_ns, on_axis(known, (int64_t)(range->raw.end > to ? to : range->raw.end)));
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

static int64_t ticks_of(uint32_t clock, int64_t stamp) {
  return stamp - (clock == PD_CLOCK_REALTIME ? RIG_REALTIME : 0);
}

static int64_t relative(const known_case *known, uint32_t clock, int64_t stamp) {
  return on_axis(known, ticks_of(clock, stamp));
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

void check_calls(const known_case *known, const pd_trace *trace, unsigned number, expected_losses *losses) {
  int64_t end = on_axis(known, (int64_t)known->input.end_ticks);
  uint64_t kept = 0;
  for (uint32_t i = 0; i < known->input.call_count; i++) {
    const raw_call *call = &known->calls[i];
    int64_t start = relative(known, call->clock, call->start);
    uint32_t row = call_row(trace, i);
    bool paused = pause_of(known, ticks_of(call->clock, call->start)) != PD_NONE;
    bool inside = start >= 0 && start < end && !paused;
    cr_assert_eq(row != PD_NONE, inside, "case %u: call %u", number, i);
    cr_assert_eq(known->fates[i], inside ? FATE_KEPT : start >= end && !paused ? FATE_LATER : FATE_DROPPED);
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

void check_devices(const known_case *known, const pd_trace *trace, unsigned number, expected_losses *losses) {
  int64_t end = on_axis(known, (int64_t)known->input.end_ticks);
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
      bool paused = pause_of(known, ticks_of(known->devices[i].clock, activity->start)) != PD_NONE;
      bool inside = start >= 0 && start < end && !paused;
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
    cr_assert_eq(got->end_ns, relative(known, known->devices[i].clock, activity->end) + shift);
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

void check_steps(const pd_trace *trace, unsigned number) {
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

void check_memory(const known_case *known, const pd_trace *trace, unsigned number) {
  uint64_t kept = 0;
  for (uint32_t t = 0; t < THREADS; t++)
    for (uint32_t i = 0; i < known->threads[t].memory_count; i++) {
      uint64_t ticks = known->threads[t].memory[i].ticks;
      kept += ticks >= known->input.start_ticks && ticks < known->input.end_ticks &&
              pause_of(known, (int64_t)ticks) == PD_NONE;
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
