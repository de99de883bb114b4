/* See timeline.h: silences in which the system saw the thread wait for something to come: that is its input. */
#include "timeline.h"

#include "facts/thread_states.h"

/* Waits that lie no further apart are one. */
#define APART_NS 100000
/* A thread that waits for another one waits for input only where the process computes for no more than this part of
 * that time: else the other one may be computing. The system adds up a thread's processor time when it leaves the
 * processor or a few milliseconds later, so that all such waits of the window are looked at together. */
#define COMPUTES_SHARE 0.1

/* A thread that waits for workers does a few operations at most. Where it makes the batch by operations whose recording
 * matters, none takes longer: 36 us for five that lie in each other, in loops without workers. */
#define BATCH_OPERATION_NS 20000

typedef struct wait_finder {
  intervals *out;
  bool with_futex, ok;
} wait_finder;

typedef struct futex_time {
  int64_t ns, process_ns, least_ns;
} futex_time;

static bool add_futex(void *user, const pd_state_row *row, int64_t start_ns, int64_t end_ns) {
  futex_time *self = user;
  if (row->state != PD_HOST_FUTEX || row->process_ns < 0 || end_ns - start_ns < self->least_ns) return true;
  self->ns += row->end_ns - row->start_ns;
  self->process_ns += row->process_ns;
  return true;
}

static bool waits_in_futex(const timeline *self, uint32_t thread) {
  futex_time all = {.least_ns = self->limits.quiet_ns};
  if (!(self->facts->trace->facts & PD_FACT_STATES) || !self->step_count) return false;
  thread_states_visit(self->facts->trace, thread, self->bounds[0], self->bounds[self->step_count], add_futex, &all);
  return (double)all.process_ns <= COMPUTES_SHARE * (double)all.ns;
}

/* Threads that launch are few; of more than these the first are asked for anew. */
void timeline_waiter_set(const timeline *self, timeline_waiter *waiter, uint32_t thread) {
  if (waiter->now.thread == thread) return;
  waiter->now = (timeline_waiter_thread){.thread = thread};
  if (thread == PD_NONE) return;
  for (uint32_t i = 0; i < waiter->known_count; i++)
    if (waiter->known[i].thread == thread) {
      waiter->now = waiter->known[i];
      return;
    }
  waiter->now.with_futex = waits_in_futex(self, thread);
  if (waiter->known_count == sizeof waiter->known / sizeof waiter->known[0]) waiter->known_count = 0;
  waiter->known[waiter->known_count++] = waiter->now;
}

void timeline_waiter_work(const timeline *self, timeline_waiter *waiter, const timeline_call *call) {
  for (uint32_t r = call->record_first; r < call->record_first + call->record_count; r++)
    if (self->records[r].end_ns > waiter->device_end) waiter->device_end = self->records[r].end_ns;
}

static bool is_wait(const wait_finder *self, const pd_state_row *row) {
  return row->state == PD_HOST_READ || row->state == PD_HOST_POLL ||
         (row->state == PD_HOST_FUTEX && row->process_ns >= 0 && self->with_futex);
}

static bool add_wait(void *user, const pd_state_row *row, int64_t start_ns, int64_t end_ns) {
  wait_finder *self = user;
  if (!is_wait(self, row)) return true;
  if (self->out->count) { /* intervals_add joins what touches */
    const int64_t last_ns = self->out->rows[self->out->count - 1].end;
    if (start_ns - last_ns <= APART_NS) start_ns = last_ns;
  }
  self->ok = intervals_add(self->out, start_ns, end_ns);
  return self->ok;
}

/* With several ranks one may wait for another: then no wait is looked for. */
bool timeline_waits(const timeline *self, timeline_waiter *waiter, int64_t from, int64_t to, int64_t then) {
  const pd_trace *trace = self->facts->trace;
  intervals *out = &waiter->waits;
  wait_finder finder = {out, waiter->now.with_futex, true};
  const bool is_told = (trace->facts & PD_FACT_STATES) && !self->has_inputs && trace->ranks <= 1;
  out->count = 0;
  if (!is_told || waiter->now.thread == PD_NONE || waiter->device_end >= then) return true;
  thread_states_visit(trace, waiter->now.thread, from, to, add_wait, &finder);
  size_t kept = 0;
  for (size_t i = 0; i < out->count; i++)
    if (out->rows[i].end - out->rows[i].start >= self->limits.quiet_ns) out->rows[kept++] = out->rows[i];
  out->count = kept;
  return finder.ok;
}

bool timeline_makes_batch(const timeline *self, uint16_t lane, int64_t from, int64_t to) {
  const trace_facts *facts = self->facts;
  int64_t operations = 0;
  for (uint32_t t = 0; t < facts->trace->threads.count; t++) {
    if (self->lane_of[t] != lane) continue;
    for (uint64_t r = facts_range_from(facts, t, from); r < facts->range_count; r++) {
      const pd_range *range = facts_range(facts, r);
      if (range->thread != t || range->start_ns >= to) break;
      operations += facts_is_operation(range->kind) || range->kind == PD_RANGE_OP_INNER;
    }
  }
  return to - from < operations * BATCH_OPERATION_NS;
}
