/* See timeline.h: what held up each device record, and which record each blocking call waited for. */
#include "timeline.h"

#include "base/random_bits.h"
#include "trace/programmatic.h"
#include "trace/sort.h"

#include <stdlib.h>
#include <string.h>

/* ---- queues ---- */

/* Selects it (Hoare, Algorithm 65: Find), with pivots by chance, so that no order of the values is a slow one. Changes
 * their order. */
static int64_t median(int64_t *values, uint64_t count, int64_t otherwise) {
  const int64_t middle = (int64_t)(count / 2);
  int64_t low = 0, high = (int64_t)count - 1;
  uint64_t chance = count;
  if (!count) return otherwise;
  while (low < high) {
    const int64_t pivot = values[low + (int64_t)(random_bits(&chance) % (uint64_t)(high - low + 1))];
    int64_t i = low, j = high;
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i > j) break;
      const int64_t swap = values[i];
      values[i++] = values[j];
      values[j--] = swap;
    }
    if (middle <= j)
      high = j;
    else if (middle >= i)
      low = i;
    else
      break;
  }
  return values[middle];
}

/* By the first record, or by work of before that ran for a part of the first step that counts. */
static bool begins_behind(const timeline *self) {
  enum { STEP_PART = 50 };
  if (!self->record_count) return false;
  const int64_t steps_ns = self->bounds[self->step_count] - self->bounds[0], late = 3 * self->limits.latency_ns;
  const int64_t behind = self->backlog_end_ns - self->bounds[0];
  return self->records[0].latency_ns >= late || (behind >= late && behind >= steps_ns / self->step_count / STEP_PART);
}

typedef struct stream_end {
  int64_t ns;
  uint32_t call; /* of the record that ends then */
  bool is_kernel, has_kernels;
} stream_end;

/* As pdhost check has it: a kernel that is launched programmatically may begin before the kernel in front of it ends,
 * and kernels of one graph may run side by side. */
static bool may_begin_beside(const timeline *self, const timeline_record *record, const stream_end *before) {
  if (record->call == before->call) return true;
  if (record->kind != PD_ACTIVITY_KERNEL || !before->is_kernel || record->end_ns < before->ns) return false;
  const pd_call *call = facts_call(self->facts, self->calls[record->call].source);
  return programmatic_on(self->facts->trace->device) && programmatic_call(facts_text(self->facts, call->name));
}

/* Whether it began right after its launch ended, and later than in a full queue: its launch held it up. A copy that was
 * called before the work in front of it ended waited for that within its call. */
static bool is_launched_late(const timeline *self, const timeline_record *record, const stream_end *before) {
  enum { QUEUE_GAPS = 2 };
  const timeline_call *call = &self->calls[record->call];
  const int64_t gap = record->start_ns - before->ns, behind = record->start_ns - call->end_ns;
  if (!self->limits.at_once_ns || record->call == before->call ||
      (call->kind == TIMELINE_COPY && call->start_ns < before->ns))
    return false;
  return gap > QUEUE_GAPS * self->limits.queue_gap_ns && behind <= self->limits.at_once_ns &&
         record->latency_ns < self->limits.latency_ns;
}

static bool find_queued(timeline *self) {
  const uint64_t streams = self->facts->trace->streams.count;
  const int64_t limit = self->limits.gap_ns;
  stream_end *ends = malloc((streams + 1) * sizeof *ends);
  int64_t *gaps = malloc((self->record_count + 1) * sizeof *gaps),
          *latencies = malloc((self->record_count + 1) * sizeof *latencies);
  uint64_t gap_count = 0, latency_count = 0;
  const bool ok = ends && gaps && latencies;
  for (uint64_t s = 0; ok && s <= streams; s++) ends[s] = (stream_end){INT64_MIN, REPLAY_NONE, false, false};
  for (uint32_t i = 0; ok && i < self->record_count; i++) {
    timeline_record *record = &self->records[i];
    const timeline_call *call = &self->calls[record->call];
    stream_end *end = &ends[record->stream];
    const int64_t before = end->ns, called = call->start_ns;
    const bool follows = before != INT64_MIN;
    const int64_t gap = follows ? record->start_ns - before : 0;
    record->latency_ns = record->start_ns - called;
    record->gap_ns = gap > 0 || may_begin_beside(self, record, end) ? gap : 0;
    /* A call that went on when the stream was free held it up itself. */
    const bool ahead =
        called + TIMELINE_AHEAD_NS < before && (gap < TIMELINE_DELAY_GAPS * limit || call->end_ns < before);
    const bool queued = follows && (gap <= limit || ahead) && !is_launched_late(self, record, end);
    record->hold = queued ? TIMELINE_BY_STREAM : TIMELINE_BY_LAUNCH;
    if (queued && gap < TIMELINE_DELAY_GAPS * limit)
      gaps[gap_count++] = gap > 0 ? gap : 0;
    else if (!queued && record->latency_ns >= 0 && record->latency_ns < self->limits.latency_ns)
      latencies[latency_count++] = record->latency_ns;
    const bool is_kernel = record->kind == PD_ACTIVITY_KERNEL;
    end->has_kernels |= is_kernel;
    if (record->end_ns > before) *end = (stream_end){record->end_ns, record->call, is_kernel, end->has_kernels};
  }
  for (uint64_t s = 0; ok && s < streams; s++) {
    self->streams_used += ends[s].ns != INT64_MIN;
    self->kernel_streams += ends[s].has_kernels;
  }
  if (ok) {
    self->latency_ns = median(latencies, latency_count, self->limits.latency_ns / 2);
    self->gap_ns = median(gaps, gap_count, self->limits.gap_ns / 4);
    self->begins_behind = begins_behind(self);
  }
  free(ends);
  free(gaps);
  free(latencies);
  return ok;
}

/* ---- blocking calls ---- */

static bool ends_after(const void *rows, uint32_t a, uint32_t b) {
  const timeline_record *records = rows;
  return records[a].end_ns > records[b].end_ns;
}

/* The record that ends last of those before `launched`, `limit` at the latest. `by_end` orders all by their end. */
static uint32_t last_ended(const timeline *self, const uint32_t *by_end, uint32_t launched, int64_t limit) {
  uint32_t low = 0, high = self->record_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (self->records[by_end[middle]].end_ns <= limit)
      low = middle + 1;
    else
      high = middle;
  }
  while (low && by_end[low - 1] >= launched) low--;
  return low ? by_end[low - 1] : REPLAY_NONE;
}

static uint32_t own_record(const timeline *self, const timeline_call *call) {
  for (uint32_t r = call->record_first + call->record_count; r > call->record_first; r--)
    if (self->records[r - 1].end_ns <= call->end_ns + TIMELINE_DOUBT_NS) return r - 1;
  return REPLAY_NONE;
}

static void set_wait(timeline *self, timeline_call *call, const uint32_t *by_end, uint32_t launched) {
  const int64_t length = call->end_ns - call->start_ns;
  const bool allocates = call->kind == TIMELINE_ALLOCATE || call->kind == TIMELINE_FREE;
  call->blocks = allocates || call->kind == TIMELINE_SYNC || call->kind == TIMELINE_COPY;
  if (!call->blocks) return;
  call->awaited = call->kind == TIMELINE_COPY ? own_record(self, call)
                                              : last_ended(self, by_end, launched, call->end_ns + TIMELINE_DOUBT_NS);
  call->own_ns = length;
  if (call->awaited == REPLAY_NONE) return;
  const int64_t end = self->records[call->awaited].end_ns;
  /* Taking memory waits for nothing, unless work ends well within the call. */
  if (allocates && (end <= call->start_ns || (call->end_ns - end) * 10 >= length * 9)) {
    call->awaited = REPLAY_NONE;
    return;
  }
  call->waited = end > call->start_ns;
  if (!call->waited) return;
  call->tail_ns = call->end_ns > end ? call->end_ns - end : 0;
  if (call->own_ns > call->tail_ns) call->own_ns = call->tail_ns;
}

/* A blocking call that found its work done would have had the usual tail, had it not been: that of those that waited,
 * or where none did, its own time. */
static bool set_usual_tails(timeline *self) {
  int64_t *tails = malloc(((size_t)self->call_count + 1) * sizeof *tails);
  uint64_t count = 0;
  if (!tails) return false;
  for (uint32_t c = 0; c < self->call_count; c++)
    if (self->calls[c].kind == TIMELINE_SYNC && self->calls[c].waited) tails[count++] = self->calls[c].tail_ns;
  const int64_t median_ns = median(tails, count, 0);
  free(tails);
  for (uint32_t c = 0; c < self->call_count; c++) {
    timeline_call *call = &self->calls[c];
    if (call->kind != TIMELINE_SYNC || call->waited || call->awaited == REPLAY_NONE) continue;
    const int64_t most = call->end_ns - self->records[call->awaited].end_ns, usual = count ? median_ns : call->own_ns;
    call->tail_ns = most < 0 ? 0 : most < usual ? most : usual;
  }
  return true;
}

static bool find_waits(timeline *self) {
  uint32_t *by_end = malloc(((size_t)self->record_count + 1) * sizeof *by_end);
  uint32_t *scratch = malloc(((size_t)self->record_count + 1) * sizeof *scratch);
  const bool ok = by_end && scratch;
  for (uint32_t i = 0; ok && i < self->record_count; i++) by_end[i] = i;
  if (ok) sort_runs(by_end, scratch, self->record_count, ends_after, self->records);
  int64_t last = INT64_MIN; /* end of the work launched so far */
  for (uint32_t c = 0; ok && c < self->call_count; c++) {
    timeline_call *call = &self->calls[c];
    set_wait(self, call, by_end, call->record_first);
    call->drains =
        call->waits_for_device && call->awaited != REPLAY_NONE && self->records[call->awaited].end_ns == last;
    for (uint32_t r = call->record_first; r < call->record_first + call->record_count; r++)
      if (self->records[r].end_ns > last) last = self->records[r].end_ns;
  }
  free(by_end);
  free(scratch);
  return ok;
}

bool timeline_link(timeline *self) {
  return find_queued(self) && timeline_find_edges(self) && find_waits(self) && set_usual_tails(self);
}
