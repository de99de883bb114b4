/* See record_host.h. */
#include "record_host.h"

#include "host_children.h"
#include "host_python.h"
#include "host_thread.h"

#include "base/log.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How often it is asked what children use. */
#define CHILDREN_NS INT64_C(100000000)
/* How often it is looked where the threads are in code of Python. */
#define PLACES_NS INT64_C(10000000)

struct record_host {
  record_host_way way;
  record_host_put *put;
  void *user;
  process_time used;   /* by the process */
  int64_t children_ns; /* CLOCK_MONOTONIC of the last look at them */
  int64_t places_ns;   /* the same of their places; 0: they were not looked at yet */
  host_children children;
  host_python python;
  host_thread threads[RECORD_HOST_THREADS];
  capture_child rows[HOST_CHILDREN];
};

static void emit_states(void *user, uint32_t thread, const capture_state *rows, uint32_t count) {
  const record_host *self = user;
  self->put(self->user, CAPTURE_STATES, thread, rows, sizeof *rows, count);
}

record_host *record_host_open(pid_t pid, record_host_way way, bool with_places, record_host_put *put, void *user) {
  record_host *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->way = way;
  self->put = put;
  self->user = user;
  (void)process_time_open(&self->used, pid);
  self->children.program = pid;
  self->places_ns = with_places ? 0 : INT64_MAX;
  return self;
}

static void watch_thread(record_host *self, uint32_t tid) {
  host_thread *place = NULL;
  for (uint32_t i = 0; i < RECORD_HOST_THREADS; i++) {
    host_thread *thread = &self->threads[i];
    if (thread->is_open && thread->tid == tid) return;
    if (!thread->is_open && !place) place = thread;
  }
  if (!place) return;
  memset(place, 0, sizeof *place);
  place->emit = emit_states;
  place->user = self;
  errno = 0;
  if (!host_thread_open(place, self->children.program, tid, self->way != RECORD_HOST_PROC)) return;
  if (self->way == RECORD_HOST_SWITCHES && !place->has_switches)
    log_line(PD_LOG_WARN, NULL, "thread %u: the kernel does not tell of its context switches (%s); /proc is read", tid,
             strerror(errno));
}

void record_host_calls(record_host *self, const pd_activity *rows, uint32_t count) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < count; i++) {
    const pd_activity *row = &rows[i];
    if (!pd_activity_is_call(row) || row->u.api.api < PD_API_LAUNCH || row->u.api.api > PD_API_GRAPH_LAUNCH) continue;
    if (row->thread && row->thread != last) watch_thread(self, row->thread);
    last = row->thread;
  }
}

static void look_at_children(record_host *self) {
  const int64_t now_ns = pd_monotonic_ns();
  if (self->children_ns && now_ns - self->children_ns < CHILDREN_NS) return;
  self->children_ns = now_ns;
  const uint32_t count = host_children_look(&self->children, self->rows);
  if (count) self->put(self->user, CAPTURE_CHILDREN, 0, self->rows, sizeof self->rows[0], count);
}

/* A program that launches has its interpreter, if it has one. */
static void look_at_places(record_host *self) {
  const int64_t now_ns = pd_monotonic_ns();
  if (now_ns - PLACES_NS < self->places_ns) return;
  if (!self->places_ns && !host_python_open(&self->python, self->children.program)) {
    self->places_ns = INT64_MAX;
    return;
  }
  self->places_ns = now_ns;
  for (uint32_t i = 0; i < RECORD_HOST_THREADS; i++) {
    capture_place row = {.ns = pd_clock_ns(CLOCK_REALTIME)};
    const uint32_t tid = self->threads[i].tid;
    if (self->threads[i].is_open && host_python_look(&self->python, (pid_t)tid, row.text, sizeof row.text))
      self->put(self->user, CAPTURE_PLACES, tid, &row, sizeof row, 1);
  }
}

bool record_host_look(record_host *self) {
  if (!self) return false;
  const int64_t used = process_time_ns(&self->used);
  for (uint32_t i = 0; i < RECORD_HOST_THREADS; i++) {
    host_thread *thread = &self->threads[i];
    if (thread->is_open && !host_thread_look(thread, used)) host_thread_close(thread);
  }
  look_at_children(self);
  look_at_places(self);
  return true;
}

void record_host_flush(record_host *self) {
  for (uint32_t i = 0; i < RECORD_HOST_THREADS; i++)
    if (self->threads[i].is_open) host_thread_flush(&self->threads[i]);
}

void record_host_close(record_host *self) {
  if (!self) return;
  for (uint32_t i = 0; i < RECORD_HOST_THREADS; i++) host_thread_close(&self->threads[i]);
  free(self);
}
