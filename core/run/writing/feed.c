/* See feed.h. A semaphore is a hint to look again; what there is to see are the counters. */
#include "feed.h"

#include "base/child.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How often a process that waits looks whether the others are still there. */
#define LOOK_NS 200000000

static int supervisor;  /* its process; 0: there is none */
static int memory = -1; /* board_feed's; of all runs of this process */

static board_feed *own(void) { return &board_own()->feed; }

static void rest(sem_t *until) {
  const struct timespec end = pd_clock_after(CLOCK_MONOTONIC, LOOK_NS);
  (void)sem_clockwait(until, CLOCK_MONOTONIC, &end); /* a signal ends it early, which does no harm */
}

static bool is_set(const atomic_bool *flag) { return atomic_load_explicit(flag, memory_order_acquire); }
static void set(atomic_bool *flag) { atomic_store_explicit(flag, true, memory_order_release); }

/* The supervisor would begin another writer; without it none begins. */
bool feed_is_orphan(void) { return supervisor && getpid() != supervisor && getppid() != supervisor; }

/* ---- the worker ---- */

static bool has_writer(board_feed *self) {
  if (is_set(&self->is_gone) || atomic_load_explicit(&self->code, memory_order_acquire) >= 0) return false;
  if (!feed_is_orphan() || !child_is_gone((uint32_t)atomic_load(&self->writer))) return true;
  set(&self->is_gone);
  return false;
}

bool feed_is_on(void) { return is_set(&own()->is_on); }

void feed_refuse(void) {
  board_feed *self = own();
  if (!feed_is_on()) return;
  feed_ends(NULL);
  atomic_store(&self->is_on, false);
}

void feed_post(void) {
  board_feed *self = own();
  if (!feed_is_on()) return;
  (void)atomic_fetch_add_explicit(&self->fed, 1, memory_order_release);
  (void)sem_post(&self->more);
}

void feed_wait(void) {
  board_feed *self = own();
  if (!feed_is_on()) return;
  const uint64_t all = atomic_load_explicit(&self->fed, memory_order_relaxed);
  while (atomic_load_explicit(&self->eaten, memory_order_acquire) < all && has_writer(self)) rest(&self->read);
}

void feed_open(void) {
  board_feed *self = own();
  feed_post();
  while (!is_set(&self->is_open) && has_writer(self)) rest(&self->read);
}

void feed_last(void) {
  set(&own()->ends);
  feed_post();
}

feed_result feed_end(void) {
  board_feed *self = own();
  while (has_writer(self)) rest(&self->read);
  return (feed_result){.code = atomic_load(&self->code), .left_out = atomic_load(&self->left_out)};
}

double feed_writer_seconds(void) {
  board_feed *self = own();
  const int writer = atomic_load(&self->writer);
  clockid_t clock;
  if (!feed_is_on()) return 0;
  const bool lives = writer && clock_getcpuclockid(writer, &clock) == 0;
  return 1e-9 * (double)(atomic_load(&self->spent_ns) + (lives ? pd_clock_ns(clock) : 0));
}

/* ---- the writer ---- */

/* All that was fed when it was asked for has been read. */
static void tell_read(board_feed *self, uint64_t seen) {
  if (atomic_load_explicit(&self->eaten, memory_order_relaxed) >= seen) return;
  atomic_store_explicit(&self->eaten, seen, memory_order_release);
  (void)sem_post(&self->read);
}

bool feed_more(feed_place *self) {
  board_feed *from = own();
  if (self->saw_end) return false;
  tell_read(from, self->seen);
  for (;;) {
    self->saw_end = is_set(&from->ends); /* before the counter: what was fed by then is in the capture */
    const uint64_t fed = atomic_load_explicit(&from->fed, memory_order_acquire);
    const bool is_whole = board_is_whole(); /* else the supervisor will end this process, and begin another one */
    if (is_whole && (self->saw_end || fed != self->seen)) {
      self->seen = fed;
      return true;
    }
    const uint32_t worker = (uint32_t)atomic_load(&from->worker); /* 0: there is none yet */
    if (feed_is_orphan() && (!is_whole || !worker || child_is_gone(worker))) {
      self->lost = true;
      return false;
    }
    rest(&from->more);
  }
}

void feed_opened(void) {
  set(&own()->is_open);
  (void)sem_post(&own()->read);
}

void feed_close(int code) {
  atomic_store_explicit(&own()->code, code, memory_order_release);
  (void)sem_post(&own()->read);
}

/* ---- the supervisor ---- */

void feed_begin(void) {
  board_feed *self = own();
  (void)sem_init(&self->more, 1, 0);
  (void)sem_init(&self->read, 1, 0);
  if (memory < 0) memory = memfd_create("pdhost-capture", MFD_CLOEXEC);
  self->memory = memory;
  atomic_store(&self->code, -1);
  supervisor = (int)getpid();
}

void feed_begin_writer(int pid) {
  atomic_store(&own()->writer, pid);
  set(&own()->is_on);
}

void feed_ends(const char *reason) {
  board_feed *self = own();
  if (reason) (void)snprintf(self->reason, sizeof self->reason, "%s", reason);
  set(&self->ends);
  (void)sem_post(&self->more);
}

void feed_gone(void) {
  set(&own()->is_gone);
  (void)sem_post(&own()->read);
}
