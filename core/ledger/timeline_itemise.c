/* See timeline.h: the host's time as items of the replay, each piece between two calls owned by the first rule that
 * fits: a wait for input; the operation around a blocking call; silence, which is computing; else launching. */
#include "timeline.h"

#include "trace/trace_memory.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* Two calls of one loop of calls lie no further apart. */
#define ROW_NS 50000
/* A call without work that is so short is a query. */
#define QUERY_NS 3000
/* How long a silence has to be to count as computing, in percent of timeline_limits.quiet_ns: inside one operation, and
 * where operations are not known. */
enum { QUIET_INSIDE = 400, QUIET_UNKNOWN = 240 };
/* The same where another thread goes on at its end: in traces of loops that compute nothing there, the thread of the
 * backward part took up to 0.38 ms to wake, and the loop's thread up to 0.29 ms after it. */
enum { QUIET_HANDOVER = 200 };

/* The owners of pieces, in the order of their rules. */
enum { SPAN_INPUT, SPAN_SYNC, SPAN_PAGEABLE, SPAN_ALLOCATOR, SPAN_OPERATIONS, SPAN_COUNT };
static const replay_owners owner_of_span[SPAN_OPERATIONS] = {REPLAY_INPUT, REPLAY_SYNC, REPLAY_PAGEABLE,
                                                             REPLAY_ALLOCATOR};

/* One lane's. */
typedef struct lane_build {
  timeline *timeline;
  uint16_t lane;
  uint32_t step;
  uint64_t first_item; /* the lane's, of the timeline's */
  intervals spans[SPAN_COUNT];
  size_t at[SPAN_COUNT];     /* pieces come in the order of time */
  int next_rule[SPAN_COUNT]; /* the next rule that has spans; not used for the last one */
  uint32_t *calls;           /* the lane's */
  uint32_t count;
  uint32_t next_launch;       /* of them, the first that is not before the piece */
  uint32_t next;              /* of them, the one after the piece */
  const timeline_call *ended; /* of those before the piece, the one that ends last */
  timeline_waiter waiter;     /* whose silence it is */
} lane_build;

static int span_of_owner(replay_owners owner) {
  for (int s = SPAN_SYNC; s < SPAN_OPERATIONS; s++)
    if (owner_of_span[s] == owner) return s;
  return -1;
}

/* ---- spans ---- */

/* Starts of calls that launch kernels, of one thread, in the order of time. */
typedef struct kernel_calls {
  int64_t *starts;
  uint32_t count;
} kernel_calls;

static bool holds_kernel(const kernel_calls *kernels, const pd_range *range) {
  uint32_t low = 0, high = kernels->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (kernels->starts[middle] < range->start_ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low < kernels->count && kernels->starts[low] < range->end_ns;
}

/* The outermost operation around a call that launches no kernel. */
static bool add_operation(lane_build *self, const timeline_call *call, int span, const kernel_calls *kernels) {
  const trace_facts *facts = self->timeline->facts;
  const pd_range *found = NULL;
  for (uint32_t r = timeline_source(self->timeline, call)->range; r < facts->range_count;) {
    const pd_range *range = facts_range(facts, r);
    if (holds_kernel(kernels, range)) break;
    if (facts_is_operation(range->kind) || range->kind == PD_RANGE_OP_INNER) found = range;
    r = range->parent;
  }
  return !found || intervals_add(&self->spans[span], found->start_ns, found->end_ns);
}

/* Spans of the blocking calls of one thread. */
static bool add_thread_spans(lane_build *self, uint32_t thread, kernel_calls *kernels) {
  const timeline *of = self->timeline;
  const timeline_call *before = NULL, *churns = NULL;
  bool ok = true;
  kernels->count = 0;
  for (uint32_t i = 0; i < self->count; i++) {
    const timeline_call *call = &of->calls[self->calls[i]];
    if (call->thread == thread && timeline_launches_kernel(of, call))
      kernels->starts[kernels->count++] = call->start_ns;
  }
  for (uint32_t i = 0; ok && i < self->count; i++) {
    const timeline_call *call = &of->calls[self->calls[i]];
    if (call->thread != thread) continue;
    const int span = span_of_owner(call->owner);
    if (span >= 0 && of->has_operations) ok = add_operation(self, call, span, kernels);
    if (ok && churns && (call->record_count || call->owner == REPLAY_ALLOCATOR)) {
      ok = intervals_add(&self->spans[SPAN_ALLOCATOR], churns->end_ns, call->start_ns);
      churns = NULL;
    }
    if (call->churns) churns = call;
    if (span < 0 && !call->record_count && call->end_ns - call->start_ns < QUERY_NS) continue;
    if (ok && span >= 0 && before && before->owner == call->owner && call->start_ns - before->end_ns < ROW_NS)
      ok = intervals_add(&self->spans[span], before->end_ns, call->start_ns);
    before = call;
  }
  return ok;
}

/* What ranges tell becomes the lane's. */
static void take_range_spans(lane_build *self) {
  timeline *of = self->timeline;
  self->spans[SPAN_INPUT] = of->inputs[self->lane];
  self->spans[SPAN_OPERATIONS] = of->frameworks[self->lane];
  of->inputs[self->lane] = of->frameworks[self->lane] = (intervals){0};
}

/* ---- pieces ---- */

static bool add_item(lane_build *self, replay_item item) {
  timeline *of = self->timeline;
  if (!PD_ARRAY_FIT(of->items, of->item_room, of->item_count + 1)) return false;
  item.lane = self->lane;
  of->items[of->item_count++] = item;
  return true;
}

static bool is_scaled(replay_owners owner, bool quiet, timeline_kind kind) {
  if (owner & (REPLAY_LAUNCH | REPLAY_CHAIN)) return true;
  return (owner & (REPLAY_SYNC | REPLAY_PAGEABLE | REPLAY_ALLOCATOR)) && (quiet || kind == TIMELINE_LAUNCH);
}

/* A piece that continues the one before it, with the same owner, step and flags, is joined to that. Where operations
 * are not known it is not: timeline_count_beside looks at each silence there. */
static bool add_piece(lane_build *self, int64_t from, int64_t to, replay_owners owner) {
  const timeline *of = self->timeline;
  if (to <= from) return true;
  const bool shorter =
      is_scaled(owner, true, 0) || (owner == REPLAY_INPUT && timeline_makes_batch(of, self->lane, from, to));
  const replay_item piece = {.duration_ns = to - from,
                             .begin_ns = from,
                             .wait = REPLAY_NONE,
                             .step = self->step,
                             .owner = (uint16_t)owner,
                             .flags = (uint16_t)(REPLAY_QUIET | (shorter ? REPLAY_SCALED : 0))};
  replay_item *last = of->has_operations && of->item_count > self->first_item ? &of->items[of->item_count - 1] : NULL;
  if (!last || last->flags != piece.flags || last->owner != piece.owner || last->step != piece.step ||
      last->begin_ns + last->duration_ns != from)
    return add_item(self, piece);
  last->duration_ns += piece.duration_ns;
  return true;
}

/* Whether the next launch after `at` copies from the host. */
static bool copies_next(lane_build *self, int64_t at) {
  const timeline *of = self->timeline;
  while (self->next_launch < self->count) {
    const timeline_call *call = &of->calls[self->calls[self->next_launch]];
    if (call->record_count && call->start_ns >= at) {
      const pd_activity *detail = &timeline_row(of, &of->records[call->record_first])->detail;
      return detail->kind == PD_ACTIVITY_MEMCPY &&
             (detail->u.copy.from == PD_MEMORY_PAGEABLE || detail->u.copy.from == PD_MEMORY_PINNED);
    }
    self->next_launch++;
  }
  return false;
}

static bool ends_at(const trace_facts *facts, uint32_t thread, int64_t at) {
  const uint64_t next = facts_range_from(facts, thread, at);
  if (!next || facts_range(facts, next - 1)->thread != thread) return false;
  uint32_t r = (uint32_t)(next - 1);
  while (r < facts->range_count && facts_range(facts, r)->end_ns < at) r = facts_range(facts, r)->parent;
  return r < facts->range_count && facts_range(facts, r)->end_ns == at;
}

/* Whether one thread ends something at `from`, and only others begin something at `to`. `to` is `then` where the next
 * call ends the silence. */
static bool hands_over(const lane_build *self, int64_t from, int64_t to, int64_t then) {
  const timeline *of = self->timeline;
  const trace_facts *facts = of->facts;
  const timeline_call *next = self->next < self->count ? &of->calls[self->calls[self->next]] : NULL;
  bool ended = false, goes_on = false;
  for (uint32_t t = 0; t < facts->trace->threads.count && !goes_on; t++) {
    if (of->lane_of[t] != self->lane) continue;
    const bool by_call = self->ended && self->ended->thread == t && self->ended->end_ns == from;
    if (!by_call && !ends_at(facts, t, from)) continue;
    const uint64_t begins = facts_range_from(facts, t, to);
    const bool begins_range = begins < facts->range_count && facts_range(facts, begins)->thread == t &&
                              facts_range(facts, begins)->start_ns == to;
    ended = true;
    goes_on = begins_range || (to == then && (!next || next->thread == t));
  }
  return ended && !goes_on;
}

/* A silence, in an operation or not. A long one before a copy from the host is a wait for a batch, where nothing marks
 * such waits. */
static replay_owners silence_of(lane_build *self, int64_t from, int64_t to, bool inside, int64_t then) {
  const timeline *of = self->timeline;
  const int64_t least = of->limits.quiet_ns * (of->has_operations ? 100 : QUIET_UNKNOWN) / 100, length = to - from;
  if (inside) return length * 100 >= least * QUIET_INSIDE ? REPLAY_HOST : REPLAY_LAUNCH;
  if (length < least) return REPLAY_LAUNCH;
  if (of->has_operations && length * 100 < least * QUIET_HANDOVER && hands_over(self, from, to, then))
    return REPLAY_LAUNCH;
  return !of->has_inputs && copies_next(self, then) ? REPLAY_INPUT : REPLAY_HOST;
}

/* What the thread was seen to wait for is input. */
static bool add_quiet(lane_build *self, int64_t from, int64_t to, bool inside, int64_t then) {
  const replay_owners owner = silence_of(self, from, to, inside, then);
  const intervals *waits = &self->waiter.waits;
  if (owner != REPLAY_HOST || inside) return add_piece(self, from, to, owner);
  bool ok = timeline_waits(self->timeline, &self->waiter, from, to, then);
  for (size_t i = 0; ok && i < waits->count; i++) {
    ok = add_piece(self, from, waits->rows[i].start, owner) &&
         add_piece(self, waits->rows[i].start, waits->rows[i].end, REPLAY_INPUT);
    from = waits->rows[i].end;
  }
  return ok && add_piece(self, from, to, owner);
}

static bool cut(lane_build *self, int span, int64_t from, int64_t to, int64_t then);

/* NOLINTNEXTLINE(misc-no-recursion): at most SPAN_COUNT deep */
static bool give(lane_build *self, int span, int64_t from, int64_t to, bool inside, int64_t then) {
  if (to <= from) return true;
  if (span == SPAN_OPERATIONS) return add_quiet(self, from, to, inside, then);
  return inside ? add_piece(self, from, to, owner_of_span[span]) : cut(self, self->next_rule[span], from, to, then);
}

/* Divides [from, to) by the spans of one rule; `then`: where the piece between two calls ends.
 * NOLINTNEXTLINE(misc-no-recursion): as in give */
static bool cut(lane_build *self, int span, int64_t from, int64_t to, int64_t then) {
  const intervals *list = &self->spans[span];
  size_t *at = &self->at[span];
  bool ok = true;
  while (*at < list->count && list->rows[*at].end <= from) ++*at;
  for (size_t i = *at; ok && i < list->count && list->rows[i].start < to; i++) {
    const int64_t start = list->rows[i].start > from ? list->rows[i].start : from;
    const int64_t end = list->rows[i].end < to ? list->rows[i].end : to;
    ok = give(self, span, from, start, false, then) && give(self, span, start, end, true, then);
    from = end;
  }
  return ok && give(self, span, from, to, false, then);
}

/* The silence up to `to`, step by step. */
static bool add_silence(lane_build *self, int64_t from, int64_t to) {
  const timeline *of = self->timeline;
  bool ok = true;
  while (ok && self->step + 1 < of->step_count && of->bounds[self->step + 1] <= to) {
    const int64_t bound = of->bounds[self->step + 1];
    ok = cut(self, SPAN_INPUT, from, bound, to);
    if (bound > from) from = bound;
    self->step++;
  }
  return ok && cut(self, SPAN_INPUT, from, to, to);
}

static bool in_input(const lane_build *self, const timeline_call *call) {
  const intervals *list = &self->spans[SPAN_INPUT];
  size_t i = self->at[SPAN_INPUT];
  while (i < list->count && list->rows[i].end < call->end_ns) i++;
  return i < list->count && list->rows[i].start <= call->start_ns;
}

static bool add_call(lane_build *self, timeline_call *call, int64_t from) {
  const int64_t start = call->start_ns > from ? call->start_ns : from;
  if (call->owner == REPLAY_LAUNCH && in_input(self, call)) call->owner = REPLAY_INPUT;
  return add_item(self, (replay_item){.duration_ns = call->end_ns > start ? call->end_ns - start : 0,
                                      .begin_ns = start,
                                      .wait = (uint32_t)(call - self->timeline->calls),
                                      .step = call->step,
                                      .owner = (uint16_t)call->owner,
                                      .flags = is_scaled(call->owner, false, call->kind) ? REPLAY_SCALED : 0});
}

/* Links each rule to the next one that has spans: the others divide nothing. */
static void skip_empty(lane_build *self) {
  int next = SPAN_OPERATIONS;
  for (int s = SPAN_OPERATIONS - 1; s >= 0; s--) {
    self->next_rule[s] = next;
    if (self->spans[s].count) next = s;
  }
}

static bool build_lane(lane_build *self, kernel_calls *kernels) {
  timeline *of = self->timeline;
  bool ok = true;
  take_range_spans(self);
  for (uint32_t c = 0; c < of->call_count; c++)
    if (of->calls[c].lane == self->lane) self->calls[self->count++] = c;
  for (uint32_t t = 0; ok && t < of->facts->trace->threads.count; t++)
    if (of->lane_of[t] == self->lane) ok = add_thread_spans(self, t, kernels);
  for (int s = 0; ok && s < SPAN_COUNT; s++) ok = intervals_merge(&self->spans[s]);
  skip_empty(self);
  int64_t at = of->bounds[0];
  for (uint32_t i = 0; ok && i < self->count; i++) {
    timeline_call *call = &of->calls[self->calls[i]];
    self->next = i;
    timeline_waiter_set(of, &self->waiter, call->thread);
    if (call->start_ns > at) ok = add_silence(self, at, call->start_ns);
    self->step = call->step > self->step ? call->step : self->step;
    ok = ok && add_call(self, call, at);
    timeline_waiter_work(of, &self->waiter, call);
    if (call->end_ns < at) continue;
    at = call->end_ns;
    self->ended = call;
  }
  self->next = self->count;
  timeline_waiter_set(of, &self->waiter, PD_NONE);
  if (ok && at < of->bounds[of->step_count]) ok = add_silence(self, at, of->bounds[of->step_count]);
  for (int s = 0; s < SPAN_COUNT; s++) intervals_free(&self->spans[s]);
  intervals_free(&self->waiter.waits);
  return ok;
}

/* ---- the whole ---- */

static int by_start(const void *a, const void *b) {
  const replay_item *x = a, *y = b;
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  /* Calls inside a call stand after it, in the order of the calls. */
  return 0;
}

/* Merge sort, which keeps the order of equals: lanes are sorted already. */
static bool join_lanes(timeline *self) {
  const uint64_t count = self->item_count;
  if (self->lane_count < 2) return true;
  replay_item *other = malloc((count + 1) * sizeof *other), *from = self->items, *to = other;
  if (!other) return false;
  for (uint64_t width = 1; width < count; width *= 2) {
    for (uint64_t low = 0; low < count; low += 2 * width) {
      const uint64_t middle = low + width < count ? low + width : count;
      const uint64_t high = low + 2 * width < count ? low + 2 * width : count;
      for (uint64_t a = low, b = middle, k = low; k < high; k++)
        to[k] = a < middle && (b == high || by_start(&from[a], &from[b]) <= 0) ? from[a++] : from[b++];
    }
    replay_item *swap = from;
    from = to;
    to = swap;
  }
  self->items = from;
  self->item_room = count;
  free(to);
  return true;
}

bool timeline_itemise(timeline *self) {
  kernel_calls kernels = {.starts = malloc(((size_t)self->call_count + 1) * sizeof *kernels.starts)};
  uint32_t *calls = malloc(((size_t)self->call_count + 1) * sizeof *calls);
  self->item_room = 3 * (uint64_t)self->call_count + self->step_count; /* more than two a call are rare */
  self->items = trace_scratch_alloc(self->item_room, sizeof *self->items);
  bool ok = kernels.starts && calls && self->items;
  for (uint16_t lane = 0; ok && self->step_count && lane < self->lane_count; lane++) {
    lane_build build = {
        .timeline = self, .lane = lane, .first_item = self->item_count, .calls = calls, .waiter = TIMELINE_WAITER};
    ok = build_lane(&build, &kernels);
  }
  free(kernels.starts);
  free(calls);
  ok = ok && join_lanes(self);
  return ok;
}
