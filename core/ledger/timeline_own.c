/* See timeline.h: whose each call is, by the first rule that fits; and what no captured graph holds. */
#include "timeline.h"

#include "temporaries.h"

#include <stdlib.h>
#include <string.h>

/* How many allocator calls in a row make and free temporaries, how many reads in a row are of values made for them, and
 * how many launches may be between two of them. What makes a value to be read takes no longer than it takes to start:
 * norms of gradients took up to 17 us on an H200. Longer kernels are the program's work. */
enum { CHURN_CALLS = 4, READ_CALLS = 4, CHURN_LAUNCHES = 2 };

static bool allocates(const timeline_call *call) {
  return call->kind == TIMELINE_ALLOCATE || call->kind == TIMELINE_FREE;
}

/* Calls that work for something, not queries or events. */
static bool is_work(const timeline_call *call) {
  return call->record_count || call->kind == TIMELINE_COPY || call->kind == TIMELINE_SYNC || allocates(call);
}

static const pd_activity *copy_of(const timeline *self, const timeline_call *call) {
  if (call->kind != TIMELINE_COPY || !call->record_count) return NULL;
  const pd_activity *detail = &timeline_row(self, &self->records[call->record_first])->detail;
  return detail->kind == PD_ACTIVITY_MEMCPY ? detail : NULL;
}

static bool is_on_host(pd_memory_kind kind) { return kind == PD_MEMORY_PAGEABLE || kind == PD_MEMORY_PINNED; }

/* By step: its last synchronisation, its first and its last launch, calls; how often it waits for the whole device. */
typedef struct step_end {
  uint32_t last_sync, first_launch, last_launch, whole;
} step_end;

static step_end *step_ends(const timeline *self) {
  step_end *out = malloc(((size_t)self->step_count + 1) * sizeof *out);
  for (uint32_t s = 0; out && s <= self->step_count; s++) out[s] = (step_end){REPLAY_NONE, REPLAY_NONE, REPLAY_NONE, 0};
  for (uint32_t c = 0; out && c < self->call_count; c++) {
    const timeline_call *call = &self->calls[c];
    if (call->kind == TIMELINE_SYNC) out[call->step].last_sync = c;
    if (call->kind == TIMELINE_SYNC && call->waits_for_device) out[call->step].whole++;
    if (!call->record_count) continue;
    if (out[call->step].first_launch == REPLAY_NONE) out[call->step].first_launch = c;
    out[call->step].last_launch = c;
  }
  return out;
}

/* The loop's own: outside of what it measures, where that is known; else the last of the step, after its last launch,
 * or one before its first launch, where the mark comes before the wait, as that of an optimizer does. Without marks a
 * step may be cut anywhere: then the only one of it that waits for the whole device. */
static bool is_measurement(const timeline *self, const step_end *ends, uint32_t c) {
  const timeline_call *call = &self->calls[c];
  const step_end *end = &ends[call->step];
  if (self->facts->trace->sync_timing && (self->facts->trace->facts & PD_FACT_TRAIN)) {
    const pd_trace_step *step = facts_step(self->facts, call->step);
    if (step->train_end_ns > step->train_start_ns &&
        (call->start_ns < step->train_start_ns || call->end_ns > step->train_end_ns))
      return true;
  }
  if (end->last_sync == c && (end->last_launch == REPLAY_NONE || end->last_launch < c)) return true;
  if (call->waits_for_device && (end->first_launch == REPLAY_NONE || c < end->first_launch)) return true;
  return !self->has_operations && call->waits_for_device && end->whole == 1;
}

/* A query takes microseconds. One that takes longer than any silence of the framework's own starts the device's
 * libraries up: of a file that began with the program, 30 s of 43 s were one call for the priorities of streams. */
static bool starts_up(const timeline *self, const timeline_call *call) {
  enum { QUIET_TIMES = 4 };
  return call->kind == TIMELINE_OTHER && !call->record_count &&
         call->end_ns - call->start_ns >= QUIET_TIMES * self->limits.quiet_ns;
}

static replay_owners owner_of(const timeline *self, const step_end *ends, uint32_t c, const timeline_call *before) {
  const timeline_call *call = &self->calls[c];
  const pd_activity *copy = copy_of(self, call);
  if (allocates(call)) return REPLAY_ALLOCATOR;
  if (starts_up(self, call)) return REPLAY_HOST;
  if (copy && is_on_host(copy->u.copy.to)) return REPLAY_SYNC;
  if (copy && copy->u.copy.from == PD_MEMORY_PAGEABLE) return REPLAY_PAGEABLE;
  if (call->kind != TIMELINE_SYNC) return REPLAY_LAUNCH;
  if (before && before->owner == REPLAY_PAGEABLE) return REPLAY_PAGEABLE;
  const bool reads = before && before->owner == REPLAY_SYNC && before->kind == TIMELINE_COPY;
  return !reads && is_measurement(self, ends, c) ? REPLAY_MEASUREMENT : REPLAY_SYNC;
}

/* A copy to the host that nothing waits for holds nothing up. */
static void free_unread(timeline *self, const timeline_call **next) {
  for (uint32_t c = self->call_count; c--;) {
    timeline_call *call = &self->calls[c];
    const timeline_call *after = next[call->thread];
    if (call->owner == REPLAY_SYNC && call->kind == TIMELINE_COPY && call->awaited == REPLAY_NONE &&
        (!after || after->owner != REPLAY_SYNC))
      call->owner = REPLAY_LAUNCH;
    if (is_work(call)) next[call->thread] = call;
  }
}

/* ---- temporaries ---- */

/* Calls of one thread that launch or take memory; `row`: those of them that take it, in a row. */
typedef struct churn {
  uint32_t *calls, *row;
  uint32_t count, row_count;
} churn;

static void close_row(timeline *self, churn *of) {
  uint32_t makes = 0, frees = 0, first = 0;
  for (uint32_t i = 0; i < of->row_count; i++) {
    const bool made = self->calls[of->calls[of->row[i]]].kind == TIMELINE_ALLOCATE;
    if (made && !makes) first = of->row[i];
    makes += made;
    frees += !made;
  }
  if (of->row_count >= CHURN_CALLS && makes && frees)
    for (uint32_t i = first; i < of->row[of->row_count - 1]; i++) {
      timeline_call *call = &self->calls[of->calls[i]];
      if (call->owner == REPLAY_LAUNCH) call->owner = REPLAY_ALLOCATOR;
      call->churns = true;
    }
  of->row_count = 0;
}

static void find_rows(timeline *self, churn *of) {
  for (uint32_t i = 0; i < of->count; i++) {
    const timeline_call *call = &self->calls[of->calls[i]];
    if (!allocates(call)) continue;
    if (of->row_count) {
      const uint32_t last = of->row[of->row_count - 1];
      if (i - last - 1 > CHURN_LAUNCHES || call->step != self->calls[of->calls[last]].step) close_row(self, of);
    }
    of->row[of->row_count++] = i;
  }
  close_row(self, of);
}

static bool works(const timeline *self, const timeline_call *call) {
  int64_t ns = 0;
  for (uint32_t r = call->record_first; r < call->record_first + call->record_count; r++)
    ns += self->records[r].end_ns - self->records[r].start_ns;
  return ns > self->limits.latency_ns;
}

static void close_reads(timeline *self, churn *of) {
  if (of->row_count >= READ_CALLS)
    for (uint32_t i = of->row[0]; i < of->row[of->row_count - 1]; i++) {
      timeline_call *call = &self->calls[of->calls[i]];
      if (call->owner == REPLAY_LAUNCH && !works(self, call)) call->owner = REPLAY_SYNC;
    }
  of->row_count = 0;
}

/* A row of reads with little between them: what lies there makes the values that are read, and goes with the reads. */
static void find_reads(timeline *self, churn *of) {
  of->row_count = 0;
  for (uint32_t i = 0; i < of->count; i++) {
    const timeline_call *call = &self->calls[of->calls[i]];
    if (call->kind != TIMELINE_COPY || call->owner != REPLAY_SYNC) continue;
    if (of->row_count) {
      const uint32_t last = of->row[of->row_count - 1];
      if (i - last - 1 > CHURN_LAUNCHES || call->step != self->calls[of->calls[last]].step) close_reads(self, of);
    }
    of->row[of->row_count++] = i;
  }
  close_reads(self, of);
}

static bool find_churn(timeline *self) {
  churn of = {.calls = malloc(((size_t)self->call_count + 1) * sizeof *of.calls),
              .row = malloc(((size_t)self->call_count + 1) * sizeof *of.row)};
  const bool ok = of.calls && of.row;
  for (uint32_t t = 0; ok && t < self->facts->trace->threads.count; t++) {
    if (self->lane_of[t] == TIMELINE_UNJUDGED) continue;
    of.count = 0;
    for (uint32_t c = 0; c < self->call_count; c++)
      if (self->calls[c].thread == t && (self->calls[c].record_count || allocates(&self->calls[c])))
        of.calls[of.count++] = c;
    find_rows(self, &of);
    find_reads(self, &of);
  }
  free(of.calls);
  free(of.row);
  return ok;
}

/* Where the program's own account of memory and parts is known, it tells temporaries that no call of the runtime shows.
 */
static bool find_accounted(timeline *self) {
  intervals alive = {0};
  uint64_t count = 0, bytes = 0;
  size_t at = 0;
  if (!self->has_parts || !self->facts->trace->memory.count) return true;
  const bool ok = temporaries_find(self->facts, &count, &bytes, &alive);
  for (uint32_t c = 0; ok && c < self->call_count; c++) {
    timeline_call *call = &self->calls[c];
    const uint32_t range = timeline_source(self, call)->range;
    while (at < alive.count && alive.rows[at].end <= call->start_ns) at++;
    if (at == alive.count || alive.rows[at].start > call->start_ns || call->owner != REPLAY_LAUNCH) continue;
    if (range < self->facts->range_count && facts_range(self->facts, range)->part != PD_PART_NONE) continue;
    call->owner = REPLAY_ALLOCATOR;
    call->churns = true;
  }
  intervals_free(&alive);
  return ok;
}

bool timeline_own(timeline *self) {
  const uint64_t threads = self->facts->trace->threads.count;
  step_end *ends = step_ends(self);
  const timeline_call **beside = calloc(threads + 1, sizeof *beside);
  const bool ok = ends && beside;
  for (uint32_t c = 0; ok && c < self->call_count; c++) {
    timeline_call *call = &self->calls[c];
    call->owner = owner_of(self, ends, c, beside[call->thread]);
    if (is_work(call)) beside[call->thread] = call;
  }
  if (ok) {
    memset(beside, 0, (threads + 1) * sizeof *beside);
    free_unread(self, beside);
  }
  free(ends);
  free(beside);
  return ok && find_churn(self) && find_accounted(self);
}

/* Finds, for each step, the time from the first to the last part that the training kit computes. The captured graph of
 * its step holds that. */
static interval *computed(const timeline *self) {
  const trace_facts *facts = self->facts;
  interval *out = calloc((size_t)self->step_count + 1, sizeof *out);
  uint32_t step = 0;
  for (uint64_t i = 0; out && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->part < PD_PART_FORWARD) continue;
    if (range->start_ns < self->bounds[step]) step = 0; /* ranges are sorted by thread */
    while (step + 1 < self->step_count && self->bounds[step + 1] <= range->start_ns) step++;
    if (!out[step].end || range->start_ns < out[step].start) out[step].start = range->start_ns;
    if (range->end_ns > out[step].end) out[step].end = range->end_ns;
  }
  return out;
}

/* Whether graphs launch most of the work, no more of them than there are steps. */
static bool is_one_graph(const timeline *self) {
  uint32_t graphs = 0;
  for (uint32_t c = 0; c < self->call_count; c++) graphs += self->calls[c].is_graph;
  return graphs && graphs <= self->step_count && facts_mostly_graphs(self->facts);
}

bool timeline_mark_outside(timeline *self) {
  if (!self->step_count || !(self->facts->trace->facts & PD_FACT_TRAIN)) return true;
  self->is_graph = is_one_graph(self);
  for (uint64_t i = 0; self->is_graph && i < self->item_count; i++) self->items[i].flags |= REPLAY_OUTSIDE;
  if (self->is_graph || !self->has_parts) return true;
  interval *of = computed(self);
  for (uint64_t i = 0; of && i < self->item_count; i++) {
    replay_item *item = &self->items[i];
    const interval *inside = &of[item->step];
    if (!inside->end) continue;
    if (item->begin_ns + item->duration_ns <= inside->start || item->begin_ns >= inside->end)
      item->flags |= REPLAY_OUTSIDE;
  }
  free(of);
  return of != NULL;
}
