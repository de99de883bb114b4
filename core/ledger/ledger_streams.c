/* See ledger_streams.h. Almost every trace has one stream with kernels or no event waits, and costs one pass. */
#include "ledger_streams.h"

#include <stdlib.h>

typedef struct stream_times {
  intervals busy;      /* its kernels */
  intervals waits;     /* when its next kernel waits for an event */
  int64_t last_end_ns; /* of the record before */
  size_t at;           /* in `busy`, for within_step() */
} stream_times;

typedef struct streams {
  const trace_facts *facts;
  stream_times *all;
  uint64_t count;
  bool *behind_wait; /* by call: its work is the first after an event wait */
  uint64_t waits;    /* calls that are */
  size_t at;         /* in what all of them do, too */
} streams;

/* A call does not say on which stream it is. What is launched next after an event wait is what waits. */
static void mark_calls(streams *self) {
  uint32_t thread = PD_NONE; /* of an event wait without work after it yet */
  for (uint64_t i = 0; i < self->facts->call_count; i++) {
    const pd_call *call = facts_call(self->facts, i);
    if (call->api == PD_API_STREAM_WAIT) {
      thread = call->thread;
    } else if (call->activity_count && call->thread == thread) {
      self->behind_wait[i] = true;
      self->waits++;
      thread = PD_NONE;
    }
  }
}

static bool open_streams(const trace_facts *facts, streams *out) {
  *out = (streams){.facts = facts, .count = facts->trace->streams.count};
  out->all = calloc(out->count + 1, sizeof *out->all);
  out->behind_wait = calloc(facts->call_count + 1, sizeof *out->behind_wait);
  if (!out->all || !out->behind_wait) return false;
  for (uint64_t s = 0; s < out->count; s++) out->all[s].last_end_ns = INT64_MIN;
  mark_calls(out);
  return true;
}

static void close_streams(streams *self) {
  for (uint64_t s = 0; self->all && s < self->count; s++) {
    intervals_free(&self->all[s].busy);
    intervals_free(&self->all[s].waits);
  }
  free(self->all);
  free(self->behind_wait);
}

/* Records are sorted by start, and a stream runs its own in the order of their launches. */
static bool find_waits(streams *self, int64_t latency_ns) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < self->facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(self->facts, i);
    if (row->stream >= self->count || row->call >= self->facts->call_count) continue;
    stream_times *stream = &self->all[row->stream];
    const pd_call *call = facts_call(self->facts, row->call);
    if (row->detail.kind == PD_ACTIVITY_KERNEL && !facts_is_communication(self->facts, row->name)) {
      const int64_t from = call->end_ns > stream->last_end_ns ? call->end_ns : stream->last_end_ns;
      ok = intervals_add(&stream->busy, row->start_ns, row->end_ns);
      if (ok && self->behind_wait[row->call] && row->start_ns - from > latency_ns)
        ok = intervals_add(&stream->waits, from, row->start_ns);
    }
    if (row->end_ns > stream->last_end_ns) stream->last_end_ns = row->end_ns;
  }
  for (uint64_t s = 0; ok && s < self->count; s++)
    ok = intervals_merge(&self->all[s].busy) && intervals_merge(&self->all[s].waits);
  return ok;
}

static bool add_all(intervals *to, const intervals *from) {
  bool ok = true;
  for (size_t i = 0; ok && i < from->count; i++) ok = intervals_add(to, from->rows[i].start, from->rows[i].end);
  return ok;
}

/* Other streams' kernels within this one's waits. */
static bool find_serialised(const streams *self, intervals *all_busy, intervals *found) {
  intervals both = {0};
  bool ok = true;
  for (uint64_t s = 0; ok && s < self->count; s++) {
    ok = add_all(all_busy, &self->all[s].busy);
    for (uint64_t other = 0; ok && self->all[s].waits.count && other < self->count; other++) {
      if (other == s) continue;
      ok = intervals_intersect(&self->all[s].waits, &self->all[other].busy, &both) && add_all(found, &both);
    }
  }
  intervals_free(&both);
  return ok && intervals_merge(all_busy) && intervals_merge(found);
}

/* How much of the list lies within the step. `*at` moves on with the steps, which come in order. */
static int64_t within_step(const intervals *list, const pd_trace_step *step, size_t *at) {
  int64_t sum = 0;
  while (*at < list->count && list->rows[*at].end <= step->start_ns) ++*at;
  for (size_t i = *at; i < list->count && list->rows[i].start < step->end_ns; i++)
    sum += (list->rows[i].end < step->end_ns ? list->rows[i].end : step->end_ns) -
           (list->rows[i].start > step->start_ns ? list->rows[i].start : step->start_ns);
  return sum;
}

/* What the step would save. */
static int64_t to_save(streams *self, const intervals *all_busy, const pd_trace_step *step) {
  int64_t most = 0;
  for (uint64_t s = 0; s < self->count; s++) {
    const int64_t busy = within_step(&self->all[s].busy, step, &self->all[s].at);
    if (busy > most) most = busy;
  }
  return within_step(all_busy, step, &self->at) - most;
}

static bool cut(streams *self, const intervals *all_busy, const intervals *found, intervals *out) {
  size_t at = 0;
  bool ok = true;
  for (uint64_t i = 0; ok && i < self->facts->step_count; i++) {
    const pd_trace_step *step = facts_step(self->facts, i);
    int64_t left = to_save(self, all_busy, step);
    while (at < found->count && found->rows[at].end <= step->start_ns) at++;
    for (size_t r = at; ok && left > 0 && r < found->count && found->rows[r].start < step->end_ns; r++) {
      const int64_t start = found->rows[r].start > step->start_ns ? found->rows[r].start : step->start_ns;
      int64_t end = found->rows[r].end < step->end_ns ? found->rows[r].end : step->end_ns;
      if (end - start > left) end = start + left;
      left -= end - start;
      ok = intervals_add(out, start, end);
    }
  }
  return ok;
}

bool ledger_streams_serialised(const trace_facts *facts, int64_t latency_ns, intervals *out) {
  streams self;
  intervals all_busy = {0}, found = {0};
  bool ok = open_streams(facts, &self);
  if (ok && self.waits && self.count > 1)
    ok = find_waits(&self, latency_ns) && find_serialised(&self, &all_busy, &found) &&
         cut(&self, &all_busy, &found, out);
  intervals_free(&all_busy);
  intervals_free(&found);
  close_streams(&self);
  return ok;
}
