/* See step_finder.h. */
#include "step_finder.h"

#include "groups.h"
#include "launch_period.h"
#include "trace/trace_memory.h"

#include <pdhost/quantity.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pd_call *call_at(const pd_trace *trace, uint64_t i) { return PD_AT(pd_call, &trace->calls, i); }

/* ---- the launches ---- */

bool step_finder_is_optimizer(const char *kernel) {
  static const char *const words[] = {"multi_tensor_apply", "adam", "Adam", "sgd", "SGD", "FusedOptimizer", "lamb_"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strstr(kernel, words[i])) return true;
  return false;
}

/* A wait for the loader. */
typedef struct loader_wait {
  int64_t start_ns;
  uint64_t range; /* index into the trace's ranges */
} loader_wait;

typedef struct finding {
  const pd_trace *trace;
  launch_sequence launches;
  bool *optimizer;    /* by string id */
  loader_wait *waits; /* of all threads, by their start */
  uint64_t wait_count;
} finding;

static bool from_host(const pd_device_row *row) {
  if (row->detail.kind != PD_ACTIVITY_MEMCPY) return false;
  const pd_memory_kind from = row->detail.u.copy.from;
  return from == PD_MEMORY_PAGEABLE || from == PD_MEMORY_PINNED;
}

static bool to_host(const pd_device_row *row) {
  if (row->detail.kind != PD_ACTIVITY_MEMCPY) return false;
  const pd_memory_kind to = row->detail.u.copy.to;
  return to == PD_MEMORY_PAGEABLE || to == PD_MEMORY_PINNED;
}

/* How long the host's thread was away from launching before this call. */
static uint32_t gap_before(const pd_trace *trace, const launch_sequence *all, uint64_t call) {
  if (!all->count) return 0;
  const int64_t gap = call_at(trace, call)->start_ns - call_at(trace, all->launches[all->count - 1].call)->end_ns;
  return gap <= 0 ? 0 : gap > UINT32_MAX ? UINT32_MAX : (uint32_t)gap;
}

/* Kernels, and copies to the host, as symbols in launch order, and copies from the host between them. */
static pd_status take_launches(finding *self) {
  const pd_trace *trace = self->trace;
  const uint32_t *by_call = trace->activities_by_call.data;
  launch_sequence *out = &self->launches;
  key_groups symbols = {.count = 0};
  out->launches = trace_scratch_alloc(trace->activities.count, sizeof *out->launches);
  out->copies = trace_scratch_alloc(trace->activities.count, sizeof *out->copies);
  self->optimizer = calloc(trace->strings.count + 1, sizeof *self->optimizer);
  pd_status status = out->launches && out->copies && self->optimizer ? PD_OK : PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < trace->strings.count; i++)
    self->optimizer[i] = step_finder_is_optimizer(PD_AT(pd_string, &trace->strings, i)->text);
  for (uint64_t i = 0; status == PD_OK && i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    for (uint32_t k = 0; k < call->activity_count; k++) {
      const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, by_call[call->activity_first + k]);
      const int64_t device_ns = row->end_ns - row->start_ns;
      if (from_host(row)) {
        out->copies[out->copy_count++] = (launch_copy){row->detail.bytes, out->count, (uint32_t)i, device_ns};
      } else if (row->detail.kind == PD_ACTIVITY_KERNEL || to_host(row)) {
        const uint32_t *grid = row->detail.u.kernel.grid;
        const uint64_t blocks = to_host(row) ? 0 : (uint64_t)grid[0] << 32 ^ (uint64_t)grid[1] << 16 ^ grid[2];
        const uint32_t symbol = groups_index(&symbols, row->name, blocks);
        if (symbol == UINT32_MAX) status = PD_NO_MEMORY;
        const uint32_t gap_ns = gap_before(trace, out, i);
        out->launches[out->count++] =
            (launch_at){symbol, (uint32_t)i, gap_ns, self->optimizer[row->name], to_host(row), device_ns};
      }
    }
  }
  out->symbols = symbols.count;
  groups_free(&symbols);
  return status;
}

/* ---- the bounds ---- */

/* Waits of the loop for what it has launched, and what it reads back, end a step; a copy to the device or a kernel
 * begins the next one. */
static bool ends_step(const pd_trace *trace, const pd_call *call) {
  if (call->api == PD_API_SYNC) return true;
  if (!call->activity_count || call->api != PD_API_MEMCPY) return false;
  const uint32_t first = ((const uint32_t *)trace->activities_by_call.data)[call->activity_first];
  return !from_host(PD_AT(pd_device_row, &trace->activities, first));
}

static int by_start(const void *a, const void *b) {
  const int64_t first = ((const loader_wait *)a)->start_ns, second = ((const loader_wait *)b)->start_ns;
  return first > second ? 1 : first < second ? -1 : 0;
}

/* Ranges stand by thread: sorted by time, each step finds its wait without looking at all ranges. */
static pd_status take_waits(finding *self) {
  const pd_trace *trace = self->trace;
  self->waits = trace_scratch_alloc(trace->ranges.count, sizeof *self->waits);
  if (!self->waits) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (range->kind == PD_RANGE_DATALOADER) self->waits[self->wait_count++] = (loader_wait){range->start_ns, i};
  }
  qsort(self->waits, self->wait_count, sizeof *self->waits, by_start);
  return PD_OK;
}

/* The start of a wait for the loader that begins in [from, to): the one that comes first in the trace, since the loop's
 * thread comes before the others. `to` where there is none. */
static int64_t first_wait(const finding *self, int64_t from, int64_t to) {
  uint64_t low = 0, high = self->wait_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (self->waits[middle].start_ns < from)
      low = middle + 1;
    else
      high = middle;
  }
  const loader_wait *first = NULL;
  for (; low < self->wait_count && self->waits[low].start_ns < to; low++)
    if (!first || self->waits[low].range < first->range) first = &self->waits[low];
  return first ? first->start_ns : to;
}

/* The first range of the thread that begins at `from` or later: ranges stand by thread and start. Their count: none. */
static uint64_t range_behind(const pd_trace *trace, uint32_t thread, int64_t from) {
  uint64_t low = 0, high = trace->ranges.count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const pd_range *range = PD_AT(pd_range, &trace->ranges, middle);
    if (range->thread < thread || (range->thread == thread && range->start_ns < from))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The end of the outermost range around the call that is over by `limit`: an optimizer works on after its last launch.
 * `bound` where it is later. */
static int64_t behind_ranges(const pd_trace *trace, const pd_call *call, int64_t bound, int64_t limit) {
  for (uint32_t at = call->range; at < trace->ranges.count;) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, at);
    if (range->end_ns > limit) break;
    if (range->kind != PD_RANGE_STEP && range->end_ns > bound) bound = range->end_ns;
    at = range->parent;
  }
  return bound;
}

/* When the thread does something that is recorded again, `limit` at the latest; calls from `next` on. */
static int64_t next_start(const pd_trace *trace, uint32_t thread, uint64_t next, int64_t from, int64_t limit) {
  for (uint64_t i = range_behind(trace, thread, from); i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (range->thread != thread || range->start_ns >= limit) break;
    if (range->kind == PD_RANGE_STEP) continue;
    limit = range->start_ns;
    break;
  }
  for (uint64_t i = next; i < trace->calls.count && call_at(trace, i)->start_ns < limit; i++)
    if (call_at(trace, i)->thread == thread && call_at(trace, i)->start_ns >= from) limit = call_at(trace, i)->start_ns;
  return limit;
}

/* Between two steps the loop's own code runs, a mark of a profiler's among it: a bound lies in its middle, and no
 * further than this behind the step. */
enum { STEP_MARK_NS = 500000 };

/* When the step before kernel `index` is over: after the launch before it, the ranges around that, and the waits that
 * follow, `most_waits` of them at most. How many there were goes to `waits`. */
static int64_t bound_before(const finding *self, uint64_t index, uint64_t most_waits, uint64_t *waits) {
  const pd_trace *trace = self->trace;
  const launch_sequence *launches = &self->launches;
  const uint64_t last = launches->launches[index - 1].call;
  const uint64_t next = index < launches->count ? launches->launches[index].call : trace->calls.count;
  const uint32_t thread = call_at(trace, last)->thread;
  int64_t bound = call_at(trace, last)->end_ns;
  const int64_t limit = next < trace->calls.count ? call_at(trace, next)->start_ns : trace->end_ns;
  const int64_t wait = first_wait(self, bound, limit);
  *waits = 0;
  bound = behind_ranges(trace, call_at(trace, last), bound, wait);
  for (uint64_t i = last + 1; i < next && *waits < most_waits; i++) {
    const pd_call *call = call_at(trace, i);
    if (call->start_ns >= wait) break;
    if (call->activity_count && !ends_step(trace, call)) break;
    if (!ends_step(trace, call) || (call->thread != thread && call->thread != 0) || call->end_ns <= bound) continue;
    bound = behind_ranges(trace, call, call->end_ns, wait);
    ++*waits;
  }
  if (bound >= limit) return limit;
  int64_t then = next_start(trace, thread, last + 1, bound, wait);
  if (thread) then = next_start(trace, 0, last + 1, bound, then);
  const int64_t half = (then - bound) / 2;
  return bound + (half < STEP_MARK_NS ? half : STEP_MARK_NS);
}

/* When anything was done first. */
static int64_t first_start(const pd_trace *trace) {
  int64_t first = trace->calls.count ? call_at(trace, 0)->start_ns : 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (range->kind != PD_RANGE_STEP && range->start_ns < first) first = range->start_ns;
  }
  return first;
}

static pd_status make_bounds(const finding *self, const launch_period *period, found_steps *out) {
  out->bounds = trace_scratch_alloc(period->count, sizeof *out->bounds);
  if (!out->bounds) return PD_NO_MEMORY;
  uint64_t waits = 0, most_waits = 0;
  int64_t from =
      period->starts[0] ? bound_before(self, period->starts[0], UINT64_MAX, &waits) : first_start(self->trace);
  for (uint64_t i = 0; i < period->count; i++) {
    /* Behind the last one the profiler may wait, too. */
    const bool is_last = i + 1 == period->count && i > 0;
    const int64_t to = bound_before(self, period->starts[i + 1], is_last ? most_waits : UINT64_MAX, &waits);
    if (waits > most_waits) most_waits = waits;
    out->bounds[i] = (step_bounds){from, to > from ? to : from + 1, i};
    from = out->bounds[i].end_ns;
  }
  out->count = period->count;
  out->period = period->length;
  out->match = period->match;
  return PD_OK;
}

static int64_t length_of(const step_bounds *step) { return step->end_ns - step->start_ns; }

static int by_length(const void *a, const void *b) {
  const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return first > second ? 1 : first < second ? -1 : 0;
}

static pd_status drop_warm_up(found_steps *self) {
  if (self->count < STEP_FINDER_WARM_STEPS) return PD_OK;
  int64_t *lengths = trace_scratch_alloc(self->count, sizeof *lengths);
  if (!lengths) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < self->count; i++) lengths[i] = length_of(&self->bounds[i]);
  const int64_t first = lengths[0];
  qsort(lengths, self->count, sizeof *lengths, by_length);
  const int64_t median = lengths[self->count / 2];
  free(lengths);
  const int64_t most = median + STEP_FINDER_WARM_NS > STEP_FINDER_WARM_TIMES * median ? median + STEP_FINDER_WARM_NS
                                                                                      : STEP_FINDER_WARM_TIMES * median;
  uint64_t warm = 0;
  while (warm < self->count / 4 && length_of(&self->bounds[warm]) > most) warm++;
  if (!warm) return PD_OK;
  self->count -= warm;
  memmove(self->bounds, self->bounds + warm, self->count * sizeof *self->bounds);
  self->warm = warm;
  char longest[32], usual[32];
  pd_text_time(longest, sizeof longest, (double)first);
  pd_text_time(usual, sizeof usual, (double)median);
  snprintf(self->warm_words, sizeof self->warm_words,
           "; steps left out before these, which warm up: %llu; the first took %s, the median is %s",
           (unsigned long long)warm, longest, usual);
  return PD_OK;
}

/* ---- both ways ---- */

pd_status step_finder_find(const pd_trace *trace, found_steps *out) {
  finding self = {.trace = trace};
  launch_period period = {.length = 0};
  *out = (found_steps){.count = 0};
  const double lost = (double)trace->losses[PD_LOSS_UNMATCHED_ACTIVITY];
  pd_status status = PD_OK;
  if (!trace->calls.count || !trace->activities.count) {
    snprintf(out->words, sizeof out->words, "launches and device records are both needed for it");
    return PD_OK;
  }
  if (lost > STEP_FINDER_UNMATCHED * (double)trace->activities.count) {
    snprintf(out->words, sizeof out->words, "%.1f %% of the device records have no launch",
             100 * lost / (double)trace->activities.count);
    return PD_OK;
  }
  status = take_launches(&self);
  if (status == PD_OK) status = launch_period_find(&self.launches, &period);
  if (status == PD_OK && period.length) {
    snprintf(out->words, sizeof out->words,
             "steps found by what repeats: %llu kernels, %llu times, %.1f %% of them alike",
             (unsigned long long)period.length, (unsigned long long)period.count, 100 * period.match);
    status = take_waits(&self);
    if (status == PD_OK) status = make_bounds(&self, &period, out);
    if (status == PD_OK) status = drop_warm_up(out);
  } else if (status == PD_OK) {
    snprintf(out->words, sizeof out->words, "%s", period.why);
  }
  free(period.starts);
  free(self.launches.launches);
  free(self.launches.copies);
  free(self.optimizer);
  free(self.waits);
  return status;
}

static bool is_called(const char *name, const void *user) {
  const char *wanted = user;
  const size_t length = strlen(wanted);
  if (length && wanted[length - 1] == '*') return strncmp(name, wanted, length - 1) == 0;
  return strncmp(name, wanted, length) == 0 && (name[length] == '\0' || name[length] == '#');
}

static bool is_within_one(const pd_trace *trace, const pd_range *range, const bool *wanted) {
  for (uint32_t at = range->parent; at != PD_NONE; at = PD_AT(pd_range, &trace->ranges, at)->parent)
    if (wanted[PD_AT(pd_range, &trace->ranges, at)->name]) return true;
  return false;
}

/* Rows that are no threads are one: what lies on which is chance. */
static uint32_t thread_of(const pd_trace *trace, const pd_range *range) {
  const bool is_thread =
      range->thread >= trace->threads.count || PD_AT(pd_thread, &trace->threads, range->thread)->tid < PD_THREAD_SPANS;
  return is_thread ? range->thread : PD_NONE;
}

static int bounds_by_start(const void *a, const void *b) {
  const step_bounds *x = a, *y = b;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* In order, each up to the next one's start; those that lie within another one are dropped. */
static void line_up(found_steps *out) {
  uint64_t kept = 0;
  int64_t end_ns = INT64_MIN;
  if (out->count) qsort(out->bounds, out->count, sizeof *out->bounds, bounds_by_start);
  for (uint64_t i = 0; i < out->count; i++) {
    if (out->bounds[i].end_ns <= end_ns) continue;
    end_ns = out->bounds[i].end_ns;
    if (kept) out->bounds[kept - 1].end_ns = out->bounds[i].start_ns;
    out->bounds[kept] = (step_bounds){out->bounds[i].start_ns, end_ns, kept};
    kept++;
  }
  out->count = kept;
}

/* Ranges stand by thread, and rows that are no threads after them: the longest run of one is taken. */
static void take_named(const pd_trace *trace, const bool *wanted, found_steps *out) {
  uint64_t best = 0, best_count = 0, count = 0, first = 0;
  for (uint64_t i = 0; i <= trace->ranges.count; i++) {
    const pd_range *range = i < trace->ranges.count ? PD_AT(pd_range, &trace->ranges, i) : NULL;
    const bool is_new =
        !range || (i && thread_of(trace, range) != thread_of(trace, PD_AT(pd_range, &trace->ranges, i - 1)));
    if (is_new) {
      if (count > best_count) best = first, best_count = count;
      first = i;
      count = 0;
    }
    count += range && wanted[range->name] && !is_within_one(trace, range, wanted);
  }
  for (uint64_t i = best; out->count < best_count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (wanted[range->name] && !is_within_one(trace, range, wanted))
      out->bounds[out->count++] = (step_bounds){range->start_ns, range->end_ns, 0};
  }
  line_up(out);
}

pd_status step_finder_ranges(const pd_trace *trace, step_finder_is_one *is_one, const void *user, found_steps *out) {
  *out = (found_steps){.count = 0};
  bool *wanted = calloc(trace->strings.count + 1, sizeof *wanted), any = false;
  if (!wanted) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < trace->strings.count; i++)
    if ((wanted[i] = is_one(PD_AT(pd_string, &trace->strings, i)->text, user))) any = true;
  if (any) out->bounds = trace_scratch_alloc(trace->ranges.count, sizeof *out->bounds);
  if (out->bounds) take_named(trace, wanted, out);
  free(wanted);
  return out->bounds || !any ? PD_OK : PD_NO_MEMORY;
}

pd_status step_finder_named(const pd_trace *trace, const char *name, found_steps *out) {
  const pd_status status = step_finder_ranges(trace, is_called, name, out);
  snprintf(out->words, sizeof out->words, "steps are the %llu ranges called %.80s", (unsigned long long)out->count,
           name);
  return status == PD_OK ? drop_warm_up(out) : status;
}

void found_steps_free(found_steps *self) {
  free(self->bounds);
  *self = (found_steps){.count = 0};
}
