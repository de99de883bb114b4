/* See timeline.h: chains of kernels that hand over from stream to stream. A hop is a kernel after an event of a kernel
 * of another stream, both with nothing beside them on the device. What the thread launches next on that stream, up to
 * its next event, belongs to the hop. The stream with the most other work stays when a chain is removed. */
#include "timeline.h"

#include "trace/sort.h"

#include <stdlib.h>

/* Fewer hops in a step are waits of the program's own. */
#define HOPS_LEAST 4
/* A hop of more records is a section of its own, which the program may well run on another stream. */
#define HOP_RECORDS 8
/* The least share of a stream's kernel time with nothing beside it, for its waits to be taken apart. */
#define ALONE_SHARE 0.8
/* Two records that touch lie beside nothing. */
#define TOUCH_NS 1000

bool timeline_starts_after(const void *rows, uint32_t a, uint32_t b) {
  const timeline_record *records = rows;
  return records[a].start_ns > records[b].start_ns;
}

/* By record: whether nothing ran beside it. NULL on no memory. */
static bool *find_lone(const timeline *self) {
  const uint32_t count = self->record_count;
  uint32_t *order = malloc(((size_t)count + 1) * sizeof *order),
           *scratch = malloc(((size_t)count + 1) * sizeof *scratch);
  bool *lone = calloc((size_t)count + 1, sizeof *lone);
  int64_t end = INT64_MIN + TOUCH_NS;
  if (order && scratch && lone) {
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    sort_runs(order, scratch, count, timeline_starts_after, self->records);
    for (uint32_t i = 0; i < count; i++) {
      const timeline_record *record = &self->records[order[i]];
      const int64_t next = i + 1 < count ? self->records[order[i + 1]].start_ns : record->end_ns;
      lone[order[i]] = record->start_ns >= end - TOUCH_NS && next >= record->end_ns - TOUCH_NS;
      if (record->end_ns > end) end = record->end_ns;
    }
  } else {
    free(lone);
    lone = NULL;
  }
  free(order);
  free(scratch);
  return lone;
}

/* The stream whose kernels outside chains take most, of equal ones that whose kernels take most; PD_NONE: there are no
 * two. False on no memory. */
static bool main_stream(const timeline *self, uint32_t *out) {
  const uint64_t streams = self->facts->trace->streams.count;
  int64_t *all = calloc(streams + 1, sizeof *all), *outside = calloc(streams + 1, sizeof *outside);
  const bool ok = all && outside;
  uint32_t used = 0, best = PD_NONE;
  for (uint32_t i = 0; ok && i < self->record_count; i++) {
    const timeline_record *record = &self->records[i];
    if (record->kind != PD_ACTIVITY_KERNEL) continue;
    const int64_t length = record->end_ns - record->start_ns + 1;
    used += !all[record->stream];
    all[record->stream] += length;
    if (!record->in_chain) outside[record->stream] += length;
  }
  for (uint32_t s = 0; used > 1 && s < streams; s++)
    if (best == PD_NONE || outside[s] > outside[best] || (outside[s] == outside[best] && all[s] > all[best])) best = s;
  *out = best;
  free(all);
  free(outside);
  return ok;
}

static bool is_beside(const int64_t *all, const int64_t *alone, uint32_t stream, uint32_t main) {
  return stream != main && (double)alone[stream] < ALONE_SHARE * (double)all[stream];
}

/* Without operations it is not known whose waits they are. A stream whose kernels mostly run beside others is there for
 * that, as those on which a library divides one convolution: its waits stay. False on no memory. */
static bool keep_library_waits(timeline *self, uint32_t main, const bool *lone) {
  const uint64_t streams = self->facts->trace->streams.count;
  int64_t *all = calloc(streams + 1, sizeof *all), *alone = calloc(streams + 1, sizeof *alone);
  const bool ok = all && alone;
  for (uint32_t i = 0; ok && i < self->record_count; i++) {
    const timeline_record *record = &self->records[i];
    if (record->kind != PD_ACTIVITY_KERNEL) continue;
    all[record->stream] += record->end_ns - record->start_ns;
    if (lone[i]) alone[record->stream] += record->end_ns - record->start_ns;
  }
  for (uint32_t i = 0; ok && i < self->record_count; i++) {
    const timeline_record *record = &self->records[i];
    for (uint32_t e = record->edge_first; e < record->edge_first + record->edge_count; e++)
      if (is_beside(all, alone, record->stream, main) ||
          is_beside(all, alone, self->records[self->edges[e].record].stream, main))
        self->edges[e].apart = false;
  }
  free(all);
  free(alone);
  return ok;
}

static bool is_hop(const timeline *self, const bool *lone, uint32_t index) {
  const timeline_record *record = &self->records[index];
  if (record->kind != PD_ACTIVITY_KERNEL || !lone[index]) return false;
  for (uint32_t e = record->edge_first; e < record->edge_first + record->edge_count; e++)
    if (self->edges[e].apart && lone[self->edges[e].record]) return true;
  return false;
}

/* Gives each record its hop, by the record that begins it: itself, or the one before it of its thread, on one stream
 * and with no event between. `sizes` gets the records of each. false on no memory. */
static bool follow_hops(const timeline *self, const bool *lone, uint32_t *hops, uint32_t *sizes) {
  const uint64_t threads = self->facts->trace->threads.count;
  uint32_t *last = malloc((threads + 1) * sizeof *last);
  if (!last) return false;
  for (uint64_t t = 0; t < threads; t++) last[t] = REPLAY_NONE;
  for (uint32_t r = 0; r < self->record_count; r++) hops[r] = REPLAY_NONE;
  for (uint32_t c = 0; c < self->call_count; c++) {
    const timeline_call *call = &self->calls[c];
    uint32_t *mine = &last[call->thread]; /* hop */
    if (call->kind == TIMELINE_EVENT_RECORD || call->kind == TIMELINE_EVENT_WAIT) *mine = REPLAY_NONE;
    for (uint32_t r = call->record_first; r < call->record_first + call->record_count; r++) {
      const bool follows = *mine != REPLAY_NONE && self->records[*mine].stream == self->records[r].stream;
      if (is_hop(self, lone, r))
        *mine = r;
      else if (!follows)
        *mine = REPLAY_NONE;
      hops[r] = *mine;
      if (*mine != REPLAY_NONE) sizes[*mine]++;
    }
  }
  free(last);
  return true;
}

/* Marks the records of all hops that are short enough; how many hops these are goes to `count`. */
static bool mark_hops(timeline *self, const bool *lone, uint64_t *count) {
  uint32_t *hops = malloc(((size_t)self->record_count + 1) * sizeof *hops),
           *sizes = calloc((size_t)self->record_count + 1, sizeof *sizes);
  const bool ok = hops && sizes && follow_hops(self, lone, hops, sizes);
  for (uint32_t r = 0; ok && r < self->record_count; r++) {
    self->records[r].in_chain = hops[r] != REPLAY_NONE && sizes[hops[r]] <= HOP_RECORDS;
    *count += self->records[r].in_chain && hops[r] == r;
  }
  free(hops);
  free(sizes);
  return ok;
}

static const timeline_call *call_of(const timeline *self, const replay_item *item) {
  return item->flags & REPLAY_QUIET ? NULL : &self->calls[item->wait];
}
static bool is_event(const timeline_call *call) {
  return call && (call->kind == TIMELINE_EVENT_RECORD || call->kind == TIMELINE_EVENT_WAIT);
}

static bool launches_chain(const timeline *self, const timeline_call *call) {
  for (uint32_t r = call->record_first; r < call->record_first + call->record_count; r++)
    if (!self->records[r].leaves_chain) return false;
  return true;
}

/* What launches a chain's kernels, and what lies between; but what lies after the last of them belongs to the launch
 * that follows. */
static void own_items(timeline *self) {
  bool in_chain = false, behind = false;
  for (uint64_t i = 0; i < self->item_count; i++) {
    replay_item *item = &self->items[i];
    const timeline_call *call = call_of(self, item);
    const bool launches = call && call->record_count;
    if (launches) in_chain = item->owner == REPLAY_LAUNCH && launches_chain(self, call);
    if (in_chain && item->owner == REPLAY_LAUNCH) item->owner = REPLAY_CHAIN;
  }
  for (uint64_t i = self->item_count; i--;) {
    replay_item *item = &self->items[i];
    const timeline_call *call = call_of(self, item);
    const bool launches = call && call->record_count;
    if (launches) behind = item->owner != REPLAY_CHAIN;
    if (!launches && item->owner == REPLAY_CHAIN && behind && !is_event(call)) item->owner = REPLAY_LAUNCH;
  }
}

bool timeline_find_chains(timeline *self) {
  uint32_t main;
  if (!main_stream(self, &main)) return false;
  if (main == PD_NONE || !self->edge_count || !self->step_count) return true;
  bool *lone = find_lone(self);
  if (!lone) return false;
  uint64_t hops = 0;
  const bool ok = (self->has_operations || keep_library_waits(self, main, lone)) && mark_hops(self, lone, &hops);
  free(lone);
  if (!ok) return false;
  if (!main_stream(self, &main)) return false;
  self->hops = (double)hops / (double)self->step_count;
  if (self->hops < HOPS_LEAST) {
    for (uint32_t i = 0; i < self->record_count; i++) self->records[i].in_chain = false;
    return true;
  }
  for (uint32_t i = 0; i < self->record_count; i++)
    self->records[i].leaves_chain = self->records[i].in_chain && self->records[i].stream != main;
  own_items(self);
  return true;
}
