/* See limited_call.h. */
#include "limited_call.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <stdlib.h>

#define LOOK_NS 20000000

/* The thread and whoever waits for it: the last one frees it. */
typedef struct calling {
  limited_call how;
  void *work;
  bool ended, given_up;
  pthread_mutex_t lock;
  pthread_cond_t changed;
} calling;

static void release(calling *self) {
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static void *call(void *user) {
  calling *self = user;
  self->how.run(self->work);
  pthread_mutex_lock(&self->lock);
  self->ended = true;
  const bool given_up = self->given_up;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
  if (!given_up) return NULL; /* whoever waits frees both */
  self->how.discard(self->work);
  release(self);
  return NULL;
}

static calling *begin(const limited_call *how, void *work) {
  calling *self = calloc(1, sizeof *self);
  pthread_condattr_t clock;
  pthread_t thread;
  if (!self) return NULL;
  self->how = *how;
  self->work = work;
  pthread_mutex_init(&self->lock, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); /* a step of the system's clock would make a look last */
  pthread_cond_init(&self->changed, &clock);
  pthread_condattr_destroy(&clock);
  if (pthread_create(&thread, NULL, call, self) != 0) { /* MPI may start processes, which would inherit a mask */
    release(self);
    return NULL;
  }
  (void)pthread_detach(thread);
  return self;
}

limited_call_end limited_call_make(const limited_call *how, void *work) {
  const int64_t until_ns = pd_monotonic_ns() + how->timeout_ns;
  calling *self = begin(how, work);
  if (!self) return LIMITED_CALL_NO_THREAD;
  pthread_mutex_lock(&self->lock);
  while (!self->ended && !(how->gives_up && how->gives_up(how->asked)) && pd_monotonic_ns() < until_ns) {
    const struct timespec look = pd_clock_after(CLOCK_MONOTONIC, LOOK_NS);
    (void)pthread_cond_timedwait(&self->changed, &self->lock, &look);
  }
  const bool ended = self->ended;
  self->given_up = !ended;
  pthread_mutex_unlock(&self->lock);
  if (ended) release(self);
  return ended ? LIMITED_CALL_ENDED : LIMITED_CALL_GOES_ON;
}
