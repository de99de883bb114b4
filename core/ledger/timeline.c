/* See timeline.h: the judged device and threads, and their calls and records within the steps. */
#include "timeline.h"

#include "trace/sort.h"
#include "trace/trace_memory.h"

#include <stdlib.h>
#include <string.h>

/* A thread is judged from this part of the launches on. One that only asks whether events are done falls out. */
#define JUDGED_PART 200
/* Two threads share a lane as long as fewer of the calls of either overlap: handing over takes turns. */
#define OVERLAP_PART 100

/* What a call gives the judged device: bits. */
enum { CALL_WORKS = 1, CALL_LAUNCHES = 2 /* a kernel */ };

/* ---- device and threads ---- */

static uint32_t device_of(const trace_facts *facts, const pd_device_row *row) {
  return row->stream < facts->trace->streams.count ? PD_AT(pd_stream_row, &facts->trace->streams, row->stream)->device
                                                   : PD_NONE;
}

static bool judge_device(timeline *self) {
  const trace_facts *facts = self->facts;
  const uint64_t count = facts->trace->streams.count;
  if (count && facts->one_device) {
    self->devices = 1;
    self->device = PD_AT(pd_stream_row, &facts->trace->streams, 0)->device;
    return true;
  }
  int64_t *busy = calloc(count + 1, sizeof *busy), most = -1;
  if (!busy) return false;
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->stream < count) busy[row->stream] += facts_span(row->start_ns, row->end_ns);
  }
  for (uint64_t s = 0; s < count; s++) {
    const uint32_t device = PD_AT(pd_stream_row, &facts->trace->streams, s)->device;
    int64_t sum = 0;
    bool is_first = true;
    for (uint64_t t = 0; t < count; t++) {
      if (PD_AT(pd_stream_row, &facts->trace->streams, t)->device != device) continue;
      if (t < s) is_first = false;
      sum += busy[t];
    }
    self->devices += is_first;
    if (sum > most) {
      most = sum;
      self->device = device;
    }
  }
  free(busy);
  return true;
}

/* What runs on a stream before its first record with a call was launched before the recording: a stream is a queue. */
static bool count_lost(timeline *self) {
  const trace_facts *facts = self->facts;
  const uint64_t streams = facts->trace->streams.count;
  bool *linked = calloc(streams + 1, sizeof *linked);
  self->works = calloc(facts->call_count + 1, sizeof *self->works);
  int64_t *ends = calloc(streams + 1, sizeof *ends); /* by stream, of such work */
  if (!linked || !ends || !self->works) {
    free(linked);
    free(ends);
    return false;
  }
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (device_of(facts, row) != self->device) continue;
    self->device_records++;
    if (row->call < facts->call_count) {
      linked[row->stream] = true;
      self->works[row->call] |= row->detail.kind == PD_ACTIVITY_KERNEL ? CALL_WORKS | CALL_LAUNCHES : CALL_WORKS;
    } else if (linked[row->stream])
      self->unlinked++;
    else {
      self->backlog++;
      ends[row->stream] = row->end_ns;
    }
  }
  /* A stream on which nothing is linked says nothing of when its work was launched. */
  for (uint64_t i = 0; self->backlog && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (device_of(facts, row) != self->device || row->call < facts->call_count || linked[row->stream]) continue;
    self->backlog--;
    self->unlinked++;
  }
  for (uint64_t s = 0; s < streams; s++)
    if (linked[s] && ends[s] > self->backlog_end_ns) self->backlog_end_ns = ends[s];
  free(linked);
  free(ends);
  return true;
}

typedef struct thread_use {
  uint32_t thread;
  uint64_t launches, calls;
  int64_t end_ns; /* of its calls so far */
} thread_use;

/* How many calls of each thread give the device work. A thread that only copies brings batches beside the loop, at a
 * pace that the loop sets: its silences hold nothing up. So kernels count alone, where there are any. */
static uint64_t count_launches(const timeline *self, uint64_t *launches) {
  const trace_facts *facts = self->facts;
  uint64_t all = 0;
  for (uint8_t work = CALL_LAUNCHES; work && !all; work /= 2)
    for (uint64_t c = 0; c < facts->call_count; c++) {
      if (!(self->works[c] & work)) continue;
      const uint32_t thread = facts_call(facts, c)->thread;
      if (thread >= facts->trace->threads.count) continue;
      launches[thread]++;
      all++;
    }
  return all;
}

static int by_launches(const void *a, const void *b) {
  const thread_use *x = a, *y = b;
  if (x->launches != y->launches) return x->launches > y->launches ? -1 : 1;
  return (x->thread > y->thread) - (x->thread < y->thread);
}

/* The thread of the steps' marks, else the one that launches first. */
static uint32_t marks_thread(const timeline *self, const uint64_t *launches) {
  const trace_facts *facts = self->facts;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind == PD_RANGE_STEP && range->thread < facts->trace->threads.count && launches[range->thread])
      return range->thread;
  }
  for (uint64_t i = 0; i < facts->call_count; i++)
    if (self->works[i] && launches[facts_call(facts, i)->thread]) return facts_call(facts, i)->thread;
  return 0;
}

/* How many calls of `uses` i and j overlap: overlaps[i * count + j], by the one that begins later. */
static void count_overlaps(const timeline *self, thread_use *uses, uint32_t count, const uint32_t *use_of,
                           uint32_t *overlaps) {
  for (uint64_t c = 0; c < self->facts->call_count; c++) {
    const pd_call *call = facts_call(self->facts, c);
    const uint32_t mine = use_of[call->thread];
    if (mine == REPLAY_NONE) continue;
    uses[mine].calls++;
    for (uint32_t u = 0; u < count; u++)
      if (u != mine && uses[u].end_ns > call->start_ns) overlaps[mine * count + u]++;
    if (call->end_ns > uses[mine].end_ns) uses[mine].end_ns = call->end_ns;
  }
}

static bool take_turns(const thread_use *uses, uint32_t count, const uint32_t *overlaps, uint32_t a, uint32_t b) {
  const uint64_t both = (uint64_t)overlaps[a * count + b] + overlaps[b * count + a];
  const uint64_t fewer = uses[a].calls < uses[b].calls ? uses[a].calls : uses[b].calls;
  return both * OVERLAP_PART <= fewer;
}

/* Each thread joins the first lane with all of whose threads it takes turns. */
static void share_lanes(timeline *self, const thread_use *uses, uint32_t count, const uint32_t *overlaps) {
  for (uint32_t i = 0; i < count; i++) {
    uint16_t lane = 0;
    for (bool fits = false; !fits; lane += !fits) {
      fits = true;
      for (uint32_t j = 0; j < i && fits; j++)
        fits = self->lane_of[uses[j].thread] != lane || take_turns(uses, count, overlaps, i, j);
    }
    self->lane_of[uses[i].thread] = lane;
    if (lane >= self->lane_count) self->lane_count = (uint16_t)(lane + 1);
  }
}

static bool judge_threads(timeline *self) {
  const trace_facts *facts = self->facts;
  const uint64_t threads = facts->trace->threads.count;
  uint64_t *launches = calloc(threads + 1, sizeof *launches), all = 0;
  uint32_t *use_of = malloc((threads + 1) * sizeof *use_of), count = 0;
  thread_use *uses = calloc(threads + 1, sizeof *uses);
  uint32_t *overlaps = NULL;
  self->lane_of = malloc((threads + 1) * sizeof *self->lane_of);
  bool ok = launches && use_of && uses && self->lane_of;
  if (ok) all = count_launches(self, launches);
  for (uint64_t t = 0; ok && t <= threads; t++) {
    self->lane_of[t] = TIMELINE_UNJUDGED;
    use_of[t] = REPLAY_NONE;
    if (t < threads && launches[t] && launches[t] * JUDGED_PART >= all)
      uses[count++] = (thread_use){.thread = (uint32_t)t, .launches = launches[t], .end_ns = INT64_MIN};
  }
  overlaps = ok ? calloc((size_t)count * count + 1, sizeof *overlaps) : NULL;
  ok = ok && overlaps;
  if (ok && count) {
    const uint32_t first = marks_thread(self, launches);
    qsort(uses, count, sizeof *uses, by_launches);
    for (uint32_t i = 1; i < count; i++)
      if (uses[i].thread == first) {
        const thread_use one = uses[i];
        memmove(uses + 1, uses, i * sizeof *uses);
        uses[0] = one;
      }
    for (uint32_t i = 0; i < count; i++) use_of[uses[i].thread] = i;
    count_overlaps(self, uses, count, use_of, overlaps);
    share_lanes(self, uses, count, overlaps);
  }
  free(launches);
  free(use_of);
  free(uses);
  free(overlaps);
  free(self->works);
  self->works = NULL;
  return ok;
}

/* ---- steps, calls, records ---- */

static bool set_bounds(timeline *self) {
  const trace_facts *facts = self->facts;
  self->step_count = (uint32_t)facts->step_count;
  self->bounds = malloc((facts->step_count + 1) * sizeof *self->bounds);
  if (!self->bounds) return false;
  for (uint64_t s = 0; s < facts->step_count; s++) self->bounds[s] = facts_step(facts, s)->start_ns;
  self->bounds[facts->step_count] = facts->step_count ? facts_step(facts, facts->step_count - 1)->end_ns : 0;
  return true;
}

enum { NAME_EVENT_RECORD = 1, NAME_WHOLE_DEVICE = 2 };

/* What names of calls say that their class does not; by string. */
static uint8_t *name_flags(const trace_facts *facts) {
  uint8_t *flags = calloc(facts->trace->strings.count + 1, 1);
  for (uint32_t i = 0; flags && i < facts->trace->strings.count; i++) {
    const char *text = facts_text(facts, i);
    if (strstr(text, "EventRecord")) flags[i] = NAME_EVENT_RECORD;
    if (strstr(text, "DeviceSynchronize") || strstr(text, "CtxSynchronize")) flags[i] = NAME_WHOLE_DEVICE;
  }
  return flags;
}

static timeline_kind kind_of(const pd_call *call, uint8_t name) {
  switch (call->api) {
  case PD_API_LAUNCH:
  case PD_API_MEMSET:
  case PD_API_GRAPH_LAUNCH: return TIMELINE_LAUNCH;
  case PD_API_MEMCPY: return TIMELINE_COPY;
  case PD_API_SYNC: return TIMELINE_SYNC;
  case PD_API_ALLOC: return TIMELINE_ALLOCATE;
  case PD_API_FREE: return TIMELINE_FREE;
  case PD_API_STREAM_WAIT: return TIMELINE_EVENT_WAIT;
  default: return name == NAME_EVENT_RECORD ? TIMELINE_EVENT_RECORD : TIMELINE_OTHER;
  }
}

static bool record_after(const void *rows, uint32_t a, uint32_t b) {
  const trace_facts *facts = rows;
  return facts_activity(facts, a)->start_ns > facts_activity(facts, b)->start_ns;
}

static bool is_backward(const trace_facts *facts, const pd_device_row *row) {
  return row->range < facts->range_count && facts_range(facts, row->range)->part == PD_PART_BACKWARD;
}

/* The call's records in the order of their start. `order` and `scratch` have room for them. */
static void take_records(timeline *self, timeline_call *to, const pd_call *call, uint32_t *order, uint32_t *scratch) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < call->activity_count; i++) {
    const uint32_t row = *PD_AT(uint32_t, &self->facts->trace->activities_by_call, call->activity_first + i);
    if (device_of(self->facts, facts_activity(self->facts, row)) == self->device) order[count++] = row;
  }
  sort_runs(order, scratch, count, record_after, self->facts);
  to->record_first = self->record_count;
  to->record_count = count;
  for (uint32_t i = 0; i < count; i++) {
    const pd_device_row *row = facts_activity(self->facts, order[i]);
    self->records[self->record_count++] = (timeline_record){.start_ns = row->start_ns,
                                                            .end_ns = row->end_ns,
                                                            .source = order[i],
                                                            .call = self->call_count,
                                                            .stream = row->stream,
                                                            .name = row->name,
                                                            .kind = (uint8_t)row->detail.kind,
                                                            .backward = is_backward(self->facts, row)};
  }
}

static bool take_calls(timeline *self) {
  const trace_facts *facts = self->facts;
  const uint64_t activities = facts->trace->activities_by_call.count;
  uint8_t *names = name_flags(facts);
  uint32_t *order = malloc((activities + 1) * sizeof *order), *scratch = malloc((activities + 1) * sizeof *scratch);
  uint32_t step = 0;
  self->calls = trace_scratch_alloc(facts->call_count, sizeof *self->calls);
  self->records = trace_scratch_alloc(activities, sizeof *self->records);
  const bool ok = names && order && scratch && self->calls && self->records;
  for (uint64_t c = 0; ok && self->step_count && c < facts->call_count; c++) {
    const pd_call *call = facts_call(facts, c);
    if (call->start_ns < self->bounds[0] || call->start_ns >= self->bounds[self->step_count]) continue;
    if (call->thread >= facts->trace->threads.count || self->lane_of[call->thread] == TIMELINE_UNJUDGED) continue;
    while (step + 1 < self->step_count && self->bounds[step + 1] <= call->start_ns) step++;
    const uint8_t name = call->name < facts->trace->strings.count ? names[call->name] : 0;
    timeline_call *to = &self->calls[self->call_count];
    *to = (timeline_call){.start_ns = call->start_ns,
                          .end_ns = call->end_ns > call->start_ns ? call->end_ns : call->start_ns,
                          .source = (uint32_t)c,
                          .thread = call->thread,
                          .step = step,
                          .awaited = REPLAY_NONE,
                          .owner = REPLAY_LAUNCH,
                          .lane = self->lane_of[call->thread],
                          .kind = kind_of(call, name),
                          .waits_for_device = name == NAME_WHOLE_DEVICE,
                          .is_graph = call->api == PD_API_GRAPH_LAUNCH};
    take_records(self, to, call, order, scratch);
    if (to->kind == TIMELINE_OTHER && to->record_count) to->kind = TIMELINE_LAUNCH;
    self->call_count++;
  }
  free(names);
  free(order);
  free(scratch);
  return ok;
}

static bool waits(const timeline_call *call) { return call->blocks && call->awaited != REPLAY_NONE; }

/* Gives each item of a call what the call waits for and launches. */
static bool fill(timeline *self) {
  uint32_t count = 0;
  for (uint32_t c = 0; c < self->call_count; c++) count += waits(&self->calls[c]);
  self->waits = malloc(((size_t)count + 1) * sizeof *self->waits);
  if (!self->waits) return false;
  count = 0;
  for (uint64_t i = 0; i < self->item_count; i++) {
    replay_item *item = &self->items[i];
    item->record_first = item->record_count = 0;
    if (item->flags & REPLAY_QUIET) continue;
    const timeline_call *call = &self->calls[item->wait];
    item->record_first = call->record_first;
    item->record_count = call->record_count;
    if (call->blocks) item->flags |= REPLAY_BLOCKS;
    if (call->drains) item->flags |= REPLAY_DRAINS;
    item->wait = REPLAY_NONE;
    if (!waits(call)) continue;
    item->wait = count;
    self->waits[count++] = (replay_wait){.own_ns = call->own_ns < item->duration_ns ? call->own_ns : item->duration_ns,
                                         .tail_ns = call->tail_ns,
                                         .awaited = call->awaited};
  }
  return true;
}

bool timeline_open(const trace_facts *facts, timeline *out) {
  *out = (timeline){.facts = facts,
                    .limits = timeline_limits_of(!facts->trace->device || facts->trace->device->is_cuda),
                    .has_inputs = facts->trace->facts & PD_FACT_INPUT,
                    .passes = 1};
  const bool ok = judge_device(out) && count_lost(out) && judge_threads(out) && set_bounds(out) &&
                  timeline_see_ranges(out) && take_calls(out) && timeline_link(out) && timeline_own(out) &&
                  timeline_itemise(out) && timeline_mark_outside(out) && timeline_find_passes(out) &&
                  timeline_find_chains(out) && timeline_count_idle(out);
  if (ok) timeline_count_beside(out);
  return ok && fill(out);
}

void timeline_close(timeline *self) {
  for (uint32_t o = 0; o < TIMELINE_OWNERS; o++) intervals_free(&self->host[o]);
  intervals_free(&self->made);
  for (uint16_t l = 0; l < self->lane_count; l++) {
    if (self->inputs) intervals_free(&self->inputs[l]);
    if (self->frameworks) intervals_free(&self->frameworks[l]);
  }
  free(self->inputs);
  free(self->frameworks);
  intervals_free(&self->busy);
  free(self->calls);
  free(self->records);
  free(self->later);
  free(self->edges);
  free(self->waits);
  free(self->bounds);
  free(self->lane_of);
  free(self->works);
  free(self->items);
  *self = (timeline){0};
}
