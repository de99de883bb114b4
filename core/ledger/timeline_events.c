/* See timeline.h: which records a device record waited for by events. */
#include "timeline.h"

#include <pdhost/array.h>

#include <stdlib.h>

/* Waits for events that one launch may have. */
enum { WAITS_MOST = 16 };

typedef struct waits {
  uint32_t records[WAITS_MOST];
  uint32_t count;
} waits;

/* What one thread did last: the record it launched, the one before its last event, and what its next launch waits for;
 * the records before its latest events, the newest at `seen_count` - 1, modulo WAITS_MOST. */
typedef struct thread_events {
  uint32_t last, recorded;
  waits next;
  uint32_t seen[WAITS_MOST];
  uint64_t seen_count;
} thread_events;

/* What the trace knows of a stream's wait, by the correlation of the call that made it wait. */
typedef struct known_wait {
  uint64_t correlation, awaited;
  uint32_t stream;
} known_wait;

/* A call that recorded an event: the record launched last on its thread by then. */
typedef struct known_event {
  uint64_t correlation;
  uint32_t record;
} known_event;

typedef struct event_finder {
  timeline *timeline;
  thread_events *threads;
  waits *streams; /* of each, what its next launch waits for */
  known_wait *known;
  known_event *events;
  uint64_t known_count, event_count, event_room;
  bool knows_events; /* PD_FACT_EVENTS */
} event_finder;

static int by_correlation(const void *a, const void *b) {
  const uint64_t *x = a, *y = b; /* the first member of either kind */
  return (*x > *y) - (*x < *y);
}

static bool take_known(event_finder *self) {
  const pd_trace *trace = self->timeline->facts->trace;
  self->known = malloc((trace->others.count + 1) * sizeof *self->known);
  if (!self->known) return false;
  for (uint64_t i = 0; i < trace->others.count; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &trace->others, i);
    if (row->kind != PD_ACTIVITY_SYNC || row->stream >= trace->streams.count || !row->correlation) continue;
    self->known[self->known_count++] = (known_wait){row->correlation, row->awaited, row->stream};
  }
  qsort(self->known, self->known_count, sizeof *self->known, by_correlation);
  return true;
}

static void put(waits *to, uint32_t record) {
  if (record != REPLAY_NONE && to->count < WAITS_MOST) to->records[to->count++] = record;
}

/* The record after which the event of that call lies; REPLAY_NONE: it was recorded before the steps. */
static uint32_t event_of(const event_finder *self, uint64_t correlation) {
  const known_event *found =
      self->event_count ? bsearch(&correlation, self->events, self->event_count, sizeof *self->events, by_correlation)
                        : NULL;
  return found ? found->record : REPLAY_NONE;
}

static void see_wait(event_finder *self, const timeline_call *call) {
  thread_events *thread = &self->threads[call->thread];
  const uint64_t correlation = timeline_source(self->timeline, call)->correlation;
  const known_wait *known =
      correlation ? bsearch(&correlation, self->known, self->known_count, sizeof *self->known, by_correlation) : NULL;
  const bool is_event_known = known && self->knows_events && known->awaited;
  const uint32_t record = is_event_known ? event_of(self, known->awaited) : thread->recorded;
  put(known ? &self->streams[known->stream] : &thread->next, record);
}

static void forget_threads(event_finder *self) {
  for (uint64_t t = 0; t < self->timeline->facts->trace->threads.count; t++)
    self->threads[t].last = self->threads[t].recorded = REPLAY_NONE;
}

static void see_launch(event_finder *self, const timeline_call *call) {
  if (call->record_count) self->threads[call->thread].last = call->record_first + call->record_count - 1;
}

/* All events first: a wait on another thread may come before what recorded its event has returned. */
static bool take_events(event_finder *self) {
  const timeline *of = self->timeline;
  for (uint32_t c = 0; c < of->call_count && self->knows_events; c++) {
    const timeline_call *call = &of->calls[c];
    see_launch(self, call);
    if (call->kind != TIMELINE_EVENT_RECORD) continue;
    if (!PD_ARRAY_FIT(self->events, self->event_room, self->event_count + 1)) return false;
    self->events[self->event_count++] =
        (known_event){timeline_source(of, call)->correlation, self->threads[call->thread].last};
  }
  if (self->event_count) qsort(self->events, self->event_count, sizeof *self->events, by_correlation);
  return true;
}

/* ---- edges ---- */

/* What one operation does on several streams is its library's own: its waits are not taken apart. */
static bool is_in_one_operation(const timeline *self, const timeline_record *a, const timeline_record *b) {
  const uint32_t range = timeline_source(self, &self->calls[a->call])->range;
  if (range >= self->facts->range_count || range != timeline_source(self, &self->calls[b->call])->range) return false;
  return facts_is_operation(facts_range(self->facts, range)->kind);
}

/* What holds up the device's own work: a copy to or from the host may well have to wait for what it copies. */
static bool works_on_device(const timeline *self, const timeline_record *record) {
  const pd_activity *detail = &timeline_row(self, record)->detail;
  if (record->kind == PD_ACTIVITY_KERNEL || record->kind == PD_ACTIVITY_MEMSET) return true;
  return detail->kind == PD_ACTIVITY_MEMCPY && detail->u.copy.from == PD_MEMORY_DEVICE &&
         detail->u.copy.to == PD_MEMORY_DEVICE;
}

static bool add_edge(timeline *self, timeline_record *to, uint32_t from) {
  if (!PD_ARRAY_FIT(self->edges, self->edge_room, self->edge_count + 1)) return false;
  const timeline_record *source = &self->records[from];
  self->edges[self->edge_count++] =
      (replay_edge){.record = from,
                    .apart = works_on_device(self, to) && source->kind == PD_ACTIVITY_KERNEL &&
                             !is_in_one_operation(self, to, source) &&
                             !facts_is_communication(self->facts, timeline_row(self, source)->name) &&
                             !facts_is_communication(self->facts, timeline_row(self, to)->name)};
  to->edge_count++;
  return true;
}

/* Ties a call's first record to all that `from` holds; `end`: of the last of them. */
static bool tie_to(timeline *self, timeline_record *first, waits *from, int64_t *end) {
  bool ok = true;
  for (uint32_t w = 0; w < from->count && ok; w++) {
    const timeline_record *source = &self->records[from->records[w]];
    if (source->stream == first->stream || first->start_ns < source->end_ns - TIMELINE_DOUBT_NS) continue;
    ok = add_edge(self, first, from->records[w]);
    if (source->end_ns > *end) *end = source->end_ns;
  }
  from->count = 0;
  return ok;
}

/* A library lets several streams wait for one event and then launches on each; the trace does not tell which stream
 * waits. So a record that starts late, and just as a record before an event of its thread ends, waited for that. */
static bool explain_delay(event_finder *self, const timeline_call *call, timeline_record *first, int64_t *end) {
  const timeline *of = self->timeline;
  const thread_events *thread = &self->threads[call->thread];
  const int64_t near = 3 * of->limits.gap_ns;
  const bool is_late =
      first->hold == TIMELINE_BY_STREAM ? first->gap_ns >= near : first->latency_ns > of->limits.latency_ns;
  uint32_t found = REPLAY_NONE;
  if (self->knows_events || !is_late || (first->edge_count && first->start_ns - *end < near)) return true;
  for (uint64_t i = thread->seen_count; i-- > 0 && thread->seen_count - i <= WAITS_MOST;) {
    const timeline_record *source = &of->records[thread->seen[i % WAITS_MOST]];
    if (source->stream == first->stream || source->end_ns > first->start_ns + TIMELINE_DOUBT_NS ||
        source->end_ns < first->start_ns - near || source->end_ns <= *end)
      continue;
    *end = source->end_ns;
    found = thread->seen[i % WAITS_MOST];
  }
  return found == REPLAY_NONE || add_edge(self->timeline, first, found);
}

static bool tie(event_finder *self, const timeline_call *call) {
  timeline *of = self->timeline;
  timeline_record *first = &of->records[call->record_first];
  int64_t end = INT64_MIN;
  first->edge_first = of->edge_count;
  if (!tie_to(of, first, &self->threads[call->thread].next, &end) ||
      !tie_to(of, first, &self->streams[first->stream], &end) || !explain_delay(self, call, first, &end))
    return false;
  if (!first->edge_count) return true;
  first->edge_ns = first->start_ns > end ? first->start_ns - end : 0;
  const bool is_later =
      first->hold == TIMELINE_BY_STREAM ? first->edge_ns < first->gap_ns : call->start_ns + TIMELINE_AHEAD_NS < end;
  if (is_later) first->hold = TIMELINE_BY_EDGE;
  return true;
}

static bool see_call(event_finder *self, const timeline_call *call) {
  thread_events *thread = &self->threads[call->thread];
  if (call->kind == TIMELINE_EVENT_RECORD) {
    thread->recorded = thread->last;
    const bool is_seen = thread->seen_count && thread->seen[(thread->seen_count - 1) % WAITS_MOST] == thread->last;
    if (thread->last != REPLAY_NONE && !is_seen) thread->seen[thread->seen_count++ % WAITS_MOST] = thread->last;
  }
  if (call->kind == TIMELINE_EVENT_WAIT) see_wait(self, call);
  see_launch(self, call);
  return !call->record_count || tie(self, call);
}

bool timeline_find_edges(timeline *self) {
  const pd_trace *trace = self->facts->trace;
  event_finder finder = {.timeline = self,
                         .threads = calloc(trace->threads.count + 1, sizeof *finder.threads),
                         .streams = calloc(trace->streams.count + 1, sizeof *finder.streams),
                         .knows_events = trace->facts & PD_FACT_EVENTS};
  bool ok = finder.threads && finder.streams && take_known(&finder);
  if (ok) forget_threads(&finder);
  ok = ok && take_events(&finder);
  if (ok) forget_threads(&finder);
  for (uint32_t c = 0; ok && c < self->call_count; c++) ok = see_call(&finder, &self->calls[c]);
  free(finder.threads);
  free(finder.streams);
  free(finder.known);
  free(finder.events);
  return ok;
}
