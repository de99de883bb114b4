/* A window's input from a capture file; see saved_window.h. Nothing in the file is believed: what does not fit is left
 * out and counted. */
#include "saved_window.h"

#include "trace_memory.h"
#include "merge.h"
#include "threads.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* ---- rows --------------------------------------------------------------------------------------------------- */

/* The records of one window. */
typedef struct loading {
  saved_window *self;
  const capture_reader *reader;
  const saved_strings *strings;
  uint64_t first, end; /* records of the file */
  uint32_t window;
} loading;

static bool is_of(const loading *from, const capture_record *at, uint32_t kind, uint32_t thread, size_t row_bytes) {
  return at->kind == kind && at->window == from->window && at->thread == thread && at->row_bytes == row_bytes &&
         (uint64_t)at->count * row_bytes == at->bytes;
}

/* All rows of a kind and thread, in their order. `whole`: only those before the first gap, since others speak of them
 * by their index. *out is not NULL when this returns PD_OK. */
static pd_status take_rows(const loading *from, uint32_t kind, uint32_t thread, size_t row_bytes, bool whole,
                           uint64_t extra, void *out_rows, uint64_t *count) {
  void **out = out_rows;
  uint64_t all = 0, next = 0;
  *count = 0;
  for (uint64_t i = from->first; i < from->end; i++)
    if (is_of(from, &from->reader->records[i], kind, thread, row_bytes)) all += from->reader->records[i].count;
  unsigned char *rows = all < UINT32_MAX ? trace_scratch_alloc(all + extra, row_bytes) : NULL;
  if (!rows) return PD_NO_MEMORY;
  *out = rows;
  for (uint64_t i = from->first; i < from->end; i++) {
    const capture_record *at = &from->reader->records[i];
    if (!is_of(from, at, kind, thread, row_bytes)) continue;
    if (at->first < next || (whole && at->first != next)) continue;
    const pd_status status = capture_payload(from->reader, at, rows + *count * row_bytes);
    if (status != PD_OK) return status;
    *count += at->count;
    next = at->first + at->count;
  }
  return PD_OK;
}

static pd_status miss(saved_window *self, uint32_t kind, uint32_t thread, uint64_t count) {
  if (!count) return PD_OK;
  if (!PD_ARRAY_FIT(self->missing, self->missing_room, self->missing_count + 1)) return PD_NO_MEMORY;
  self->missing[self->missing_count++] = (saved_missing){.thread = thread, .kind = kind, .count = count};
  return PD_OK;
}

/* ---- what a thread has -------------------------------------------------------------------------------------- */

/* Ranges kept so far that no later one holds: disjoint, in the order of time. */
typedef struct outer_ranges {
  uint32_t *index; /* into the thread's ranges */
  uint64_t count;
} outer_ranges;

/* Whether `range`, which ended last, holds each of the outer ranges or lies after it, as its depth says. */
static bool nests(const window_thread *thread, outer_ranges *outer, const raw_range *range) {
  uint64_t count = outer->count;
  for (; count; count--) {
    const raw_range *last = &thread->ranges[outer->index[count - 1]];
    if (last->end <= range->start && (last->start < range->start || last->depth <= range->depth)) break;
    if (last->start < range->start || last->depth <= range->depth) return false;
  }
  outer->count = count;
  return true;
}

/* Keeps what the merge takes for granted: ranges in the order in which they ended, one within the other or apart. */
static pd_status check_ranges(const loading *from, window_thread *thread) {
  const uint64_t last_ticks = from->self->input.end_ticks;
  uint64_t kept = 0, end = 0;
  outer_ranges outer = {.index = trace_scratch_alloc(thread->range_count, sizeof *outer.index)};
  if (!outer.index) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < thread->range_count; i++) {
    raw_range range = thread->ranges[i];
    if (range.end > last_ticks) range.end = last_ticks;
    if (range.start > range.end || range.start >= last_ticks || range.end < end) continue;
    if (range.depth >= THREAD_MAX_DEPTH || !nests(thread, &outer, &range)) continue;
    end = range.end;
    if (range.kind != PD_RANGE_STEP || !(range.name & RECORDER_STEP_NAME))
      range.name = saved_strings_id(from->strings, range.name);
    if (range.info >= thread->info_count) range.info = PD_NONE;
    if (range.stack >= thread->stack_count) range.stack = PD_NONE;
    outer.index[outer.count++] = (uint32_t)kept;
    thread->ranges[kept++] = range;
  }
  thread->range_count = kept;
  free(outer.index);
  return PD_OK;
}

static void check_details(const loading *from, window_thread *thread) {
  for (uint64_t i = 0; i < thread->info_count; i++) {
    raw_info *info = &thread->infos[i];
    info->module = saved_strings_id(from->strings, info->module);
    if (info->part > PD_PART_OPTIMIZATION) info->part = PD_PART_NONE;
    if (info->shape_first > thread->shape_count || info->shape_count > thread->shape_count - info->shape_first)
      info->shape_count = 0;
  }
  for (uint64_t i = 0; i < thread->shape_count; i++)
    if (thread->shapes[i].rank > 4) thread->shapes[i].rank = 0;
  for (uint64_t i = 0; i < thread->stack_count; i++)
    if (thread->stacks[i].count > RAW_STACK_DEPTH) thread->stacks[i].count = 0;
  for (uint64_t i = 0; i < thread->counter_count; i++)
    thread->counters[i].name = saved_strings_id(from->strings, thread->counters[i].name);
}

static pd_status take_thread(const loading *from, window_thread *thread) {
  const uint32_t tid = thread->tid;
#define TAKE(kind, rows, n, whole)                                                                                     \
  if (status == PD_OK) status = take_rows(from, kind, tid, sizeof *thread->rows, whole, 0, &thread->rows, &thread->n);
  pd_status status = PD_OK;
  TAKE(CAPTURE_INFOS, infos, info_count, true)
  TAKE(CAPTURE_SHAPES, shapes, shape_count, true)
  TAKE(CAPTURE_STACKS, stacks, stack_count, true)
  TAKE(CAPTURE_RANGES, ranges, range_count, false)
  TAKE(CAPTURE_MEMORY, memory, memory_count, false)
  TAKE(CAPTURE_COUNTERS, counters, counter_count, false)
#undef TAKE
  if (status != PD_OK) return status;
  check_details(from, thread);
  return check_ranges(from, thread);
}

static int compare_threads(const void *a, const void *b) {
  const capture_thread *first = a, *second = b;
  return first->tid < second->tid ? -1 : first->tid > second->tid;
}

/* Whether the thread recorded anything itself; else it is one whose calls alone were seen. */
static bool has_rows(const loading *from, uint32_t tid) {
  for (uint64_t i = from->first; i < from->end; i++) {
    const capture_record *at = &from->reader->records[i];
    if (at->window == from->window && at->thread == tid && at->kind >= CAPTURE_RANGES && at->kind <= CAPTURE_COUNTERS)
      return true;
  }
  return false;
}

static pd_status take_threads(const loading *from) {
  saved_window *self = from->self;
  capture_thread *rows = NULL;
  uint64_t count = 0, distinct = 0;
  pd_status status = take_rows(from, CAPTURE_THREADS, 0, sizeof *rows, false, 0, &rows, &count);
  if (status == PD_OK) qsort(rows, count, sizeof *rows, compare_threads);
  self->call_threads = rows;
  if (status != PD_OK) return status;
  self->input.threads = calloc(count + 1, sizeof *self->input.threads);
  if (!self->input.threads) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < count && status == PD_OK; i++) {
    if (i && rows[i].tid == rows[i - 1].tid) continue;
    const uint32_t name = saved_strings_id(from->strings, rows[i].name);
    if (has_rows(from, rows[i].tid)) {
      window_thread *thread = &self->input.threads[self->input.thread_count++];
      *thread = (window_thread){.tid = rows[i].tid, .name = name};
      status = take_thread(from, thread);
    }
  }
  for (uint64_t i = 0; i < count; i++)
    if (!i || rows[i].tid != rows[i - 1].tid)
      rows[distinct++] = (capture_thread){rows[i].tid, saved_strings_id(from->strings, rows[i].name)};
  self->input.call_threads = rows;
  self->input.call_thread_count = distinct;
  return status;
}

/* ---- what the window has ------------------------------------------------------------------------------------ */

/* Times that the merge adds up lie within these of 0; the epoch of CLOCK_REALTIME is about 2^60.6 ns ago. */
#define MONOTONIC_MOST_NS ((int64_t)1 << 58)
#define OFFSET_MOST_NS ((int64_t)1 << 61)
#define WINDOW_MOST_NS ((int64_t)1 << 58)

static bool is_within(int64_t value, int64_t most) { return value >= -most && value <= most; }

static bool points_rise(const clock_point *points, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    if (!is_within(points[i].monotonic_ns, MONOTONIC_MOST_NS)) return false;
    if (i && points[i].ticks <= points[i - 1].ticks) return false;
    if (i && points[i].monotonic_ns < points[i - 1].monotonic_ns) return false;
  }
  return count > 0;
}

/* Whether the window's own ticks are near the points that turn them into time. */
static bool clock_fits(const trace_clock *clock, const capture_window *head) {
  if (!is_within(clock->offset_ns, OFFSET_MOST_NS) || !points_rise(clock->points, clock->point_count)) return false;
  for (uint64_t i = 0; i < clock->zone_count; i++)
    if (!is_within(clock->zones[i].delta_ns, MONOTONIC_MOST_NS)) return false;
  const int64_t origin_ns = clock->points[0].monotonic_ns + clock->offset_ns;
  return is_within(trace_clock_from_ticks(clock, head->start_ticks) - origin_ns, WINDOW_MOST_NS) &&
         is_within(trace_clock_from_ticks(clock, head->end_ticks) - origin_ns, WINDOW_MOST_NS);
}

static pd_status take_clock(const loading *from, const capture_window *head) {
  trace_clock *clock = &from->self->clock;
  clock->offset_ns = head->clock_offset_ns;
  pd_status status =
      take_rows(from, CAPTURE_POINTS, 0, sizeof *clock->points, true, 0, &clock->points, &clock->point_count);
  if (status == PD_OK)
    status = take_rows(from, CAPTURE_ZONES, 0, sizeof *clock->zones, true, 0, &clock->zones, &clock->zone_count);
  if (status != PD_OK) return status;
  return clock_fits(clock, head) ? PD_OK : PD_INVALID;
}

/* Steps follow one another; what does not ends them. */
static pd_status take_steps(const loading *from, bool with_losses) {
  saved_window *self = from->self;
  uint64_t count = 0, losses = 0, kept = 0;
  pd_status status = take_rows(from, CAPTURE_STEPS, 0, sizeof *self->steps, true, 0, &self->steps, &count);
  if (status == PD_OK)
    status = take_rows(from, CAPTURE_STEP_LOSSES, 0, sizeof(double), true, 0, &self->losses, &losses);
  if (status != PD_OK) return status;
  for (; kept < count; kept++) {
    const recorder_step *step = &self->steps[kept];
    if (step->end_ticks < step->start_ticks || step->train_end_ticks < step->train_start_ticks) break;
    if (kept && step->start_ticks < self->steps[kept - 1].end_ticks) break;
    if (step->start_ticks < self->input.start_ticks || step->end_ticks > self->input.end_ticks) break;
  }
  self->input.steps = self->steps;
  self->input.step_count = kept;
  self->end.losses = with_losses && losses >= kept ? self->losses : NULL;
  return miss(self, CAPTURE_STEPS, 0, count - kept);
}

static int compare_ids(const void *a, const void *b) {
  const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
  return first < second ? -1 : first > second;
}

static int compare_frames(const void *a, const void *b) {
  const frame_name *first = a, *second = b;
  return first->address < second->address ? -1 : first->address > second->address;
}

static pd_status take_activities(const loading *from) {
  saved_window *self = from->self;
  window_input *input = &self->input;
  pd_status status =
      take_rows(from, CAPTURE_CALLS, 0, sizeof *input->calls, false, 0, &input->calls, &input->call_count);
  if (status == PD_OK)
    status =
        take_rows(from, CAPTURE_DEVICES, 0, sizeof *input->devices, false, 0, &input->devices, &input->device_count);
  if (status == PD_OK)
    status =
        take_rows(from, CAPTURE_EARLIER, 0, sizeof *self->earlier, false, 0, &self->earlier, &input->earlier_count);
  if (status == PD_OK)
    status = take_rows(from, CAPTURE_FRAMES, 0, sizeof *self->frames, false, 0, &self->frames, &input->frame_count);
  if (status != PD_OK) return status;
  for (uint64_t i = 0; i < input->call_count; i++)
    input->calls[i].name = saved_strings_id(from->strings, input->calls[i].name);
  for (uint64_t i = 0; i < input->device_count; i++)
    input->devices[i].activity.name = saved_strings_id(from->strings, input->devices[i].activity.name);
  for (uint64_t i = 0; i < input->frame_count; i++)
    self->frames[i].name = saved_strings_id(from->strings, self->frames[i].name);
  qsort(self->earlier, input->earlier_count, sizeof *self->earlier, compare_ids);
  qsort(self->frames, input->frame_count, sizeof *self->frames, compare_frames);
  input->earlier = self->earlier;
  input->frames = self->frames;
  return PD_OK;
}

static pd_status take_losses(const loading *from) {
  saved_window *self = from->self;
  uint64_t *counts = NULL;
  loss_mark *marks = NULL;
  uint64_t count = 0, mark_count = 0;
  pd_status status = take_rows(from, CAPTURE_LOSSES, 0, sizeof *counts, true, 0, &counts, &count);
  for (uint64_t i = 0; status == PD_OK && i < count && i < PD_LOSS_COUNT; i++) self->input.losses[i] = counts[i];
  if (status == PD_OK) status = take_rows(from, CAPTURE_MARKS, 0, sizeof *marks, false, 0, &marks, &mark_count);
  for (uint64_t i = 0; status == PD_OK && i < mark_count && self->marks.count < LOSS_MARKS; i++)
    if (marks[i].loss < PD_LOSS_COUNT) self->marks.rows[self->marks.count++] = marks[i];
  self->input.marks = &self->marks;
  free(counts);
  free(marks);
  return status;
}

/* What the file once had, against what was read. */
static pd_status count_missing(const loading *from) {
  capture_tally *tallies = NULL;
  uint64_t count = 0;
  pd_status status = take_rows(from, CAPTURE_TALLY, 0, sizeof *tallies, false, 0, &tallies, &count);
  for (uint64_t i = 0; i < count && status == PD_OK; i++) {
    uint64_t found = 0;
    for (uint64_t k = from->first; k < from->end; k++) {
      const capture_record *at = &from->reader->records[k];
      if (at->kind == tallies[i].kind && at->window == from->window && at->thread == tallies[i].thread)
        found += at->count;
    }
    if (found < tallies[i].count)
      status = miss(from->self, tallies[i].kind, tallies[i].thread, tallies[i].count - found);
  }
  free(tallies);
  return status;
}

static pd_status take_note(const loading *from) {
  for (uint64_t i = from->first; i < from->end; i++) {
    const capture_record *at = &from->reader->records[i];
    if (at->kind != CAPTURE_NOTE || at->window != from->window) continue;
    char *note = calloc(1, (size_t)at->bytes + 1);
    if (!note) return PD_NO_MEMORY;
    free(from->self->note);
    from->self->note = note;
    const pd_status status = capture_payload(from->reader, at, note);
    if (status != PD_OK) return status;
  }
  from->self->end.profile_note = from->self->note;
  return PD_OK;
}

static pd_status take_head(const loading *from, capture_window *head) {
  const capture_record *at = &from->reader->records[from->first];
  if (at->kind != CAPTURE_WINDOW || at->bytes != sizeof *head) return PD_INVALID;
  const pd_status status = capture_payload(from->reader, at, head);
  if (status != PD_OK) return status;
  if (head->end_ticks < head->start_ticks || head->profile > PD_PROFILE_EVENTS) return PD_INVALID;
  saved_window *self = from->self;
  self->end = (recorder_window){.profile = head->profile,
                                .sync_timing = head->sync_timing != 0,
                                .start_allocated_bytes = head->start_allocated_bytes,
                                .start_reserved_bytes = head->start_reserved_bytes,
                                .unprofiled_step_ns = head->unprofiled_step_ns,
                                .copies_ahead = head->copies_ahead != 0,
                                .paused_ns = head->paused_ns > 0 ? head->paused_ns : 0,
                                .graph_input_bytes = head->graph_input_bytes};
  self->input = (window_input){.clock = &self->clock,
                               .strings = from->strings->strings,
                               .window = head->window,
                               .loop_tid = head->loop_tid,
                               .start_ticks = head->start_ticks,
                               .end_ticks = head->end_ticks,
                               .end = &self->end,
                               .pid = head->pid,
                               .with_memory = head->with_memory != 0};
  return PD_OK;
}

static pd_status take_twin(const loading *from) {
  pd_twin *twin = NULL;
  uint64_t count = 0;
  const pd_status status = take_rows(from, CAPTURE_TWIN, 0, sizeof *twin, true, 0, &twin, &count);
  if (status == PD_OK && count) from->self->end.twin = *twin;
  free(twin);
  return status;
}

pd_status saved_window_load(saved_window *self, const capture_reader *reader, uint64_t first, saved_strings *strings) {
  memset(self, 0, sizeof *self);
  if (first >= reader->count) return PD_INVALID;
  loading from = {self, reader, strings, first, first + 1, reader->records[first].window};
  while (from.end < reader->count && reader->records[from.end].kind != CAPTURE_WINDOW) from.end++;
  capture_window head = {0};
  pd_status status = take_head(&from, &head);
  if (status == PD_OK) status = take_clock(&from, &head);
  if (status == PD_OK) status = take_steps(&from, head.has_losses != 0);
  if (status == PD_OK) status = take_activities(&from);
  if (status == PD_OK) status = take_threads(&from);
  if (status == PD_OK) status = take_losses(&from);
  if (status == PD_OK) status = take_note(&from);
  if (status == PD_OK) status = take_twin(&from);
  if (status == PD_OK) status = count_missing(&from);
  if (status != PD_OK) saved_window_free(self);
  return status;
}

pd_status saved_window_merge(saved_window *self, pd_trace **out) {
  const window_input *input = &self->input;
  raw_fate *fates = calloc(input->call_count + input->device_count + 1, sizeof *fates);
  *out = NULL;
  if (!fates) return PD_NO_MEMORY;
  const pd_status status = merge_window(&self->input, fates, fates + input->call_count, out);
  free(fates);
  return status;
}

void saved_window_free(saved_window *self) {
  for (uint64_t i = 0; self->input.threads && i < self->input.thread_count; i++)
    raw_window_thread_free(&self->input.threads[i]);
  void *const rows[] = {self->input.threads, self->input.calls, self->input.devices, self->steps,
                        self->losses,        self->earlier,     self->call_threads,  self->frames,
                        self->note,          self->missing,     self->clock.points,  self->clock.zones};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) free(rows[i]);
  memset(self, 0, sizeof *self);
}
