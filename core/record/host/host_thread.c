/* See host_thread.h. */
#include "host_thread.h"

#include <pdhost/clocks.h>

#include <string.h>

/* Looks are meant to be a millisecond apart. Between two that are further apart than this the thread may have been at
 * anything else. */
#define FARTHEST_NS INT64_C(10000000)
/* A switch is in the ring so long after its time. */
#define LATE_NS INT64_C(1000000)
/* A state that goes on is given so far after this time. */
#define CUT_NS INT64_C(100000000)
/* A shorter wait for a processor is a part of running. */
#define DELAY_NS 20000

static void give_rows(host_thread *self) {
  if (self->count) self->emit(self->user, self->tid, self->rows, self->count);
  self->count = 0;
}

static bool is_same(const capture_state *a, const capture_state *b) {
  return a->state == b->state && memcmp(a->detail, b->detail, sizeof a->detail) == 0;
}

/* Two neighbours in one state become one row. */
static void add_row(host_thread *self, const capture_state *row) {
  if (!row->state || row->end_ns <= row->start_ns) return;
  capture_state *last = self->count ? &self->rows[self->count - 1] : NULL;
  if (last && last->end_ns == row->start_ns && is_same(last, row)) {
    last->end_ns = row->end_ns;
    last->process_ns = last->process_ns < 0 || row->process_ns < 0 ? -1 : last->process_ns + row->process_ns;
    return;
  }
  self->rows[self->count++] = *row;
  if (self->count == HOST_THREAD_ROWS) give_rows(self);
}

static int64_t process_since(const host_thread *self) {
  return self->process_ns < 0 || self->process_begun_ns < 0 ? -1 : self->process_ns - self->process_begun_ns;
}

/* What was goes on to `end_ns`, and `state` follows. */
static void change(host_thread *self, int64_t end_ns, pd_host_state state, const char *detail) {
  self->now.end_ns = end_ns;
  self->now.process_ns = process_since(self);
  add_row(self, &self->now);
  self->now = (capture_state){.start_ns = end_ns, .state = state};
  memcpy(self->now.detail, detail, sizeof self->now.detail);
  self->process_begun_ns = self->process_before_ns;
}

static const char nothing[sizeof((capture_state *)0)->detail];

/* ---- with switches ---- */

static bool is_blocked(pd_host_state state) { return state >= PD_HOST_READ; }

/* What was seen within the stretch tells what it was blocked in. */
static void explain(host_thread *self, int64_t end_ns) {
  const host_sample *seen = &self->last;
  if (self->now.state != PD_HOST_BLOCKED || !is_blocked(seen->state)) return;
  if (seen->before_ns < self->now.start_ns || seen->after_ns > end_ns) return;
  self->now.state = seen->state;
  memcpy(self->now.detail, seen->detail, sizeof self->now.detail);
}

static void take_switch(void *user, host_switch what, int64_t ns) {
  host_thread *self = user;
  static const pd_host_state next[] = {PD_HOST_RUNS, PD_HOST_BLOCKED, PD_HOST_DELAYED, 0};
  if (what == HOST_SWITCH_LOST) {
    self->now.state = 0;
    return;
  }
  explain(self, ns);
  change(self, ns, next[what], nothing);
  self->taken++;
}

/* A thread that is on a processor needs no look, nor does one of which it is known what it is blocked in. */
static bool look_at_switches(host_thread *self, int64_t process_ns) {
  self->process_before_ns = self->process_ns;
  self->process_ns = process_ns;
  host_switches_take(&self->switches, take_switch, self);
  if (self->now.state && self->now.state != PD_HOST_BLOCKED) return true;
  const uint64_t taken = self->taken;
  host_sample seen;
  if (!host_probe_look(&self->probe, false, &seen)) return false;
  self->last = seen;
  host_switches_take(&self->switches, take_switch, self);
  explain(self, INT64_MAX);
  /* No switch until now: it is what it was seen at. */
  if (!self->now.state && seen.state && self->taken == taken) change(self, seen.after_ns, seen.state, seen.detail);
  return true;
}

/* ---- without ---- */

/* A stretch between two looks, in which the thread was at most so long without a processor. */
static void add_stretch(host_thread *self, const host_sample *from, const host_sample *to, int64_t process_ns) {
  capture_state row = {
      .start_ns = from->after_ns, .end_ns = to->after_ns, .process_ns = process_ns, .state = from->state};
  memcpy(row.detail, from->detail, sizeof row.detail);
  const bool known = from->has_schedule && to->has_schedule;
  int64_t delayed = known && to->delayed_ns > from->delayed_ns ? (int64_t)(to->delayed_ns - from->delayed_ns) : 0;
  if (delayed < DELAY_NS) delayed = 0;
  const bool changes = from->state != to->state || memcmp(from->detail, to->detail, sizeof from->detail) != 0;
  const int64_t middle = from->after_ns + (to->after_ns - from->after_ns) / 2;
  if (changes) row.end_ns = middle;
  if (from->state == PD_HOST_RUNS) { /* where in the stretch it waited for a processor is not known: at its end */
    if (delayed > row.end_ns - row.start_ns) delayed = row.end_ns - row.start_ns;
    row.end_ns -= delayed;
    add_row(self, &row);
    row = (capture_state){
        .start_ns = row.end_ns, .end_ns = row.end_ns + delayed, .process_ns = -1, .state = PD_HOST_DELAYED};
  }
  add_row(self, &row);
  if (!changes) return;
  row = (capture_state){.start_ns = middle, .end_ns = to->after_ns, .process_ns = process_ns, .state = to->state};
  memcpy(row.detail, to->detail, sizeof row.detail);
  add_row(self, &row);
}

/* A thread that had no turn on a processor between two looks was blocked in the same call all the time. */
static bool had_no_turn(const host_sample *from, const host_sample *to) {
  return from->has_schedule && to->has_schedule && from->turns == to->turns && is_blocked(from->state) &&
         is_blocked(to->state);
}

static bool look_alone(host_thread *self, int64_t process_ns) {
  host_sample seen;
  if (!host_probe_look(&self->probe, true, &seen)) return false;
  const host_sample *from = &self->last;
  const bool is_near = seen.after_ns - from->after_ns <= FARTHEST_NS || had_no_turn(from, &seen);
  const int64_t used = self->process_ns < 0 || process_ns < 0 ? -1 : process_ns - self->process_ns;
  if (from->state && seen.state && is_near) add_stretch(self, from, &seen, used);
  self->last = seen;
  self->process_ns = process_ns;
  return true;
}

/* ---- life ---- */

bool host_thread_open(host_thread *self, pid_t pid, uint32_t tid, bool with_switches) {
  self->tid = tid;
  self->switches = (host_switches){.fd = -1};
  self->process_ns = self->process_before_ns = self->process_begun_ns = -1;
  self->is_open = host_probe_open(&self->probe, pid, (pid_t)tid);
  if (!self->is_open) host_probe_close(&self->probe);
  self->has_switches = self->is_open && with_switches && host_switches_open(&self->switches, (pid_t)tid);
  return self->is_open;
}

bool host_thread_look(host_thread *self, int64_t process_ns) {
  return self->has_switches ? look_at_switches(self, process_ns) : look_alone(self, process_ns);
}

static void cut_now(host_thread *self, int64_t now_ns) {
  const capture_state goes_on = self->now;
  change(self, now_ns, goes_on.state, goes_on.detail);
}

void host_thread_flush(host_thread *self) {
  const int64_t now_ns = pd_clock_ns(CLOCK_REALTIME) - LATE_NS;
  if (self->has_switches && self->now.state && now_ns - self->now.start_ns >= CUT_NS) cut_now(self, now_ns);
  give_rows(self);
}

void host_thread_close(host_thread *self) {
  if (!self->is_open) return;
  if (self->has_switches) host_switches_take(&self->switches, take_switch, self);
  if (self->has_switches) cut_now(self, pd_clock_ns(CLOCK_REALTIME));
  host_thread_flush(self);
  host_switches_close(&self->switches);
  host_probe_close(&self->probe);
  self->is_open = false;
}
