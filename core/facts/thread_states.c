/* See thread_states.h. */
#include "thread_states.h"

#include <pdhost/array.h>
#include <pdhost/host_states.h>

#include <stdlib.h>

void idle_reason_words(const trace_facts *facts, const idle_reason *of, char *out, size_t room) {
  pd_host_state_words(of->state, facts_text(facts, of->name), out, room);
}

static const pd_state_row *state_at(const pd_trace *trace, uint64_t i) {
  return PD_AT(pd_state_row, &trace->states, i);
}

/* The first row of the thread that ends after `from`. */
static uint64_t first_state(const pd_trace *trace, uint32_t thread, int64_t from) {
  uint64_t low = 0, high = trace->states.count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const pd_state_row *row = state_at(trace, middle);
    if (row->thread < thread || (row->thread == thread && row->end_ns <= from))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void thread_states_visit(const pd_trace *trace, uint32_t thread, int64_t from, int64_t to,
                         bool (*visit)(void *user, const pd_state_row *row, int64_t start_ns, int64_t end_ns),
                         void *user) {
  for (uint64_t i = first_state(trace, thread, from); i < trace->states.count; i++) {
    const pd_state_row *row = state_at(trace, i);
    if (row->thread != thread || row->start_ns >= to) return;
    const int64_t start = row->start_ns > from ? row->start_ns : from, end = row->end_ns < to ? row->end_ns : to;
    if (!visit(user, row, start, end)) return;
  }
}

/* ---- the device's idle time ---- */

/* When the device was idle in the steps. */
static bool find_idle(const trace_facts *facts, intervals *out) {
  intervals steps = {0}, busy = {0};
  bool ok = true;
  for (uint64_t s = 0; ok && s < facts->step_count; s++)
    ok = intervals_add(&steps, facts_step(facts, s)->start_ns, facts_step(facts, s)->end_ns);
  for (uint64_t i = 0; ok && i < facts->activity_count; i++)
    ok = intervals_add(&busy, facts_activity(facts, i)->start_ns, facts_activity(facts, i)->end_ns);
  ok = ok && intervals_merge(&steps) && intervals_merge(&busy) && intervals_subtract(&steps, &busy, out);
  intervals_free(&steps);
  intervals_free(&busy);
  return ok;
}

/* ---- whose time it is ---- */

static bool is_launch(const pd_call *call) {
  return call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH && call->result == 0;
}

typedef struct finder {
  const trace_facts *facts;
  idle_reasons *out;
  intervals idle;
  size_t at; /* of `idle`; stretches come in the order of time */
  bool ok;
} finder;

static bool add_row(void *user, const pd_state_row *row, int64_t start_ns, int64_t end_ns) {
  finder *self = user;
  idle_reasons *out = self->out;
  uint32_t i = 0;
  out->known_ns += end_ns - start_ns;
  while (i < out->count && (out->rows[i].state != row->state || out->rows[i].name != row->name)) i++;
  if (i == out->count) {
    self->ok = PD_ARRAY_FIT(out->rows, out->room, out->count + 1);
    if (!self->ok) return false;
    out->rows[out->count++] = (idle_reason){row->state, row->name, 0};
  }
  out->rows[i].idle_ns += end_ns - start_ns;
  return true;
}

/* The first sample of the thread from `from` on. */
static uint64_t first_code(const pd_trace *trace, uint32_t thread, int64_t from) {
  uint64_t low = 0, high = trace->code.count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const pd_code_row *row = PD_AT(pd_code_row, &trace->code, middle);
    if (row->thread < thread || (row->thread == thread && row->ts_ns < from))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void add_places(finder *self, uint32_t thread, int64_t from, int64_t to) {
  const pd_trace *trace = self->facts->trace;
  idle_reasons *out = self->out;
  for (uint64_t i = first_code(trace, thread, from); self->ok && i < trace->code.count; i++) {
    const pd_code_row *row = PD_AT(pd_code_row, &trace->code, i);
    uint32_t k = 0;
    if (row->thread != thread || row->ts_ns >= to) return;
    while (k < out->place_count && out->places[k].place != row->place) k++;
    if (k == out->place_count) {
      self->ok = PD_ARRAY_FIT(out->places, out->place_room, out->place_count + 1);
      if (!self->ok) return;
      out->places[out->place_count++] = (idle_place){row->place, 0};
    }
    out->places[k].samples++;
    out->samples++;
  }
}

/* A stretch in which the thread makes no call. */
static bool add_stretch(finder *self, uint32_t thread, int64_t from, int64_t to) {
  while (self->at < self->idle.count && self->idle.rows[self->at].end <= from) self->at++;
  for (size_t i = self->at; self->ok && i < self->idle.count && self->idle.rows[i].start < to; i++) {
    const interval *one = &self->idle.rows[i];
    const int64_t start = one->start > from ? one->start : from, end = one->end < to ? one->end : to;
    self->out->idle_ns += end - start;
    thread_states_visit(self->facts->trace, thread, start, end, add_row, self);
    if (self->ok) add_places(self, thread, start, end);
  }
  return self->ok;
}

/* What lies between two launches is the second one's thread's, but for its own calls between them. */
static bool add_launches(finder *self) {
  const trace_facts *facts = self->facts;
  uint64_t first = 0; /* the first call after the launch before */
  int64_t from = facts->trace->start_ns;
  for (uint64_t c = 0; c < facts->call_count; c++) {
    const pd_call *launch = facts_call(facts, c);
    if (!is_launch(launch)) continue;
    for (uint64_t k = first; k < c; k++) {
      const pd_call *call = facts_call(facts, k);
      if (call->thread != launch->thread || call->end_ns <= from) continue;
      if (call->start_ns > from && !add_stretch(self, launch->thread, from, call->start_ns)) return false;
      from = call->end_ns;
    }
    if (launch->start_ns > from && !add_stretch(self, launch->thread, from, launch->start_ns)) return false;
    if (launch->end_ns > from) from = launch->end_ns;
    first = c + 1;
  }
  return true;
}

static int by_time(const void *a, const void *b) {
  const idle_reason *x = a, *y = b;
  return (x->idle_ns < y->idle_ns) - (x->idle_ns > y->idle_ns);
}

static int by_samples(const void *a, const void *b) {
  const idle_place *x = a, *y = b;
  return (x->samples < y->samples) - (x->samples > y->samples);
}

bool idle_reasons_open(const trace_facts *facts, idle_reasons *out) {
  *out = (idle_reasons){0};
  if (!(facts->trace->facts & (PD_FACT_STATES | PD_FACT_CODE)) || !facts->step_count) return true;
  finder self = {.facts = facts, .out = out, .ok = true};
  const bool ok = find_idle(facts, &self.idle) && add_launches(&self);
  intervals_free(&self.idle);
  if (out->count) qsort(out->rows, out->count, sizeof *out->rows, by_time);
  if (out->place_count) qsort(out->places, out->place_count, sizeof *out->places, by_samples);
  return ok;
}

void idle_reasons_free(idle_reasons *self) {
  free(self->rows);
  free(self->places);
  *self = (idle_reasons){0};
}
