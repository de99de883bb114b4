/* Three parties: the loop's thread gives orders, the decoder's thread carries them out one at a time, CUPTI's callbacks
 * hand buffers over. The one lock guards the order; it is never held across a call of CUPTI, and no callback takes it.
 */
#include "cupti_collect.h"

#include "cupti_callbacks.h"
#include "cupti_session.h"

#include <pdhost/clocks.h>
#include <pdhost/thread_start.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  SMALL_AT_START = 8,
  LARGE_AT_START = 4,
  FIRST_POLL_NS = 50000,
  LONGEST_POLL_NS = 5000000,
  OTHERS_NS = 500000000,
  SETS_NS = 20000000, /* no set of memory takes longer: what is due then has no bytes, and no record */
  CLOCK_TRIES = 8,
  CLOCK_NARROW_NS = 20000, /* a reading that took no longer is good enough */
  CLOCK_STEP_NS = 1000000
};

typedef enum order {
  ORDER_NONE,
  ORDER_SESSION,
  ORDER_OPEN,
  ORDER_DRAIN,
  ORDER_CLOSE,
  ORDER_FORCE,
  ORDER_PARK,
  ORDER_RESUME,
  ORDER_COUNT,
  ORDER_QUIT
} order;

struct cupti_collect {
  cupti_session session;
  cupti_allowlist calls;
  occupancy fullness;
  cupti_decoder decoder;
  cupti_between between;
  const pd_record *record;
  cupti_receiver in; /* its semaphore is posted for an order, too */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t done;
  order pending; /* guarded by lock */
  struct {       /* of the order at hand */
    int64_t start_ns, stop_ns, deadline_ns;
    int64_t offset_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
    uint32_t epoch;
    uint32_t thread; /* the loop's */
    bool by_time;
    cupti_drained drained;
    cupti_counts counts;
  } order;
  bool window_open, stopped, thread_runs, mutex_made;
  int64_t offset_ns; /* the decoder's: CLOCK_REALTIME less CLOCK_MONOTONIC as the window began */
  uint64_t refused;  /* the decoder's: the pool's count as the window began */
  bool parked;       /* the decoder's: it leaves buffers where they are */
  bool windows_done; /* records of calls that were under way as the last one ended may still come */
};

/* ---- the decoder's thread ---------------------------------------------------------------------------------- */

/* Taken from the reading that was held up least: a thread may lose its core between two clocks. */
static int64_t clock_offset_ns(void) {
  int64_t offset_ns = 0, narrowest_ns = INT64_MAX;
  for (int i = 0; i < CLOCK_TRIES && narrowest_ns > CLOCK_NARROW_NS; i++) {
    const int64_t before_ns = pd_clock_ns(CLOCK_MONOTONIC), real_ns = pd_clock_ns(CLOCK_REALTIME);
    const int64_t width_ns = pd_clock_ns(CLOCK_MONOTONIC) - before_ns;
    if (width_ns >= narrowest_ns) continue;
    narrowest_ns = width_ns;
    offset_ns = real_ns - before_ns - width_ns / 2;
  }
  return offset_ns;
}

static bool clock_was_set(const cupti_collect *self) {
  int64_t step_ns = clock_offset_ns() - self->offset_ns;
  return step_ns > CLOCK_STEP_NS || step_ns < -CLOCK_STEP_NS;
}

static void decode_queue(cupti_collect *self) {
  cupti_buffer *buffer = cupti_buffers_pull(&self->in.pool);
  if (buffer && clock_was_set(self)) { /* times from before and after cannot be compared: too much beats nothing */
    self->decoder.by_time = false;
    self->decoder.window_stop_ns = INT64_MAX;
  }
  while (buffer) {
    cupti_buffer *next = cupti_buffers_following(&self->in.pool, buffer);
    if (atomic_load(&buffer->session) == atomic_load(&self->in.pool.session))
      cupti_decoder_buffer(&self->decoder, atomic_load(&buffer->data), buffer->valid_bytes);
    else
      cupti_decoder_skip(&self->decoder, atomic_load(&buffer->data), buffer->valid_bytes);
    cupti_buffers_release(&self->in.pool, buffer);
    buffer = next;
  }
  cupti_buffers_refill(&self->in.pool);
}

/* Asking sets the library's count to zero. What was dropped outside windows belongs to none: after it has been attached
 * anew, CUPTI 13.0 counts one. */
static void count_dropped(cupti_collect *self) {
  size_t dropped = 0;
  if (self->session.api->ActivityGetNumDroppedRecords(NULL, 0, &dropped) != CUPTI_SUCCESS || !dropped) return;
  if (!self->decoder.keep) return;
  self->decoder.counts.dropped += dropped;
  if (self->record && self->record->lost) self->record->lost(self->record, PD_LOSS_RECORDS_DROPPED, dropped);
}

/* Asks CUPTI for whatever is complete until nothing is due. A completion may come after the flush has returned, and a
 * running kernel keeps its whole buffer back, so the flush's own result says nothing. */
static void carry_out_drain(cupti_collect *self) {
  int64_t pause_ns = FIRST_POLL_NS, progress_ns = 0, only_sets_ns = INT64_MAX;
  uint64_t due_before = UINT64_MAX;
  cupti_drained *drained = &self->order.drained;
  cupti_decoder_window_stop(&self->decoder, self->order.stop_ns);
  for (;;) {
    (void)self->session.api->ActivityFlushAll(0);
    /* Counted before the queue is read: what is given back in between is in the queue then. */
    const cupti_held held = cupti_buffers_held(&self->in.pool, self->order.epoch, self->order.thread);
    decode_queue(self);
    drained->polls++;
    drained->held = held.own + held.others;
    drained->others_held = held.others;
    drained->complete = cupti_decoder_settle(&self->decoder) && !drained->held;
    int64_t now = pd_clock_ns(CLOCK_MONOTONIC);
    if (drained->held || !cupti_match_only_sets(&self->decoder.match))
      only_sets_ns = INT64_MAX;
    else if (only_sets_ns == INT64_MAX)
      only_sets_ns = now;
    else
      drained->complete |= now - only_sets_ns > SETS_NS;
    drained->loop_complete |= drained->complete;
    if (drained->complete || now >= self->order.deadline_ns) break;
    if (drained->loop_complete || (!held.own && cupti_match_complete_for(&self->decoder.match, self->order.thread))) {
      drained->loop_complete = true;
      uint64_t due = drained->held + self->decoder.match.pending;
      if (due < due_before) due_before = due, progress_ns = now;
      if (now - progress_ns > OTHERS_NS) break;
    }
    struct timespec pause = {.tv_nsec = (long)pause_ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    pause_ns = pause_ns * 2 > LONGEST_POLL_NS ? LONGEST_POLL_NS : pause_ns * 2;
  }
  count_dropped(self);
  const cupti_match *match = &self->decoder.match;
  drained->refused = atomic_load(&self->in.pool.refused) - self->refused;
  drained->twins = self->decoder.parted;
  drained->graphs_empty = match->graph_count > 0 && match->graph_rows == 0;
  cupti_decoder_window_close(&self->decoder); /* at once: a call that comes now would miss its device record */
  drained->early_ns = self->decoder.early_ns; /* of what waited until then too */
  drained->pending = match->pending - match->sets;
  drained->nodes = cupti_match_nodes(match);
}

static void carry_out(cupti_collect *self, order what) {
  switch (what) {
  case ORDER_SESSION: cupti_decoder_session(&self->decoder); break;
  case ORDER_OPEN: /* what has come so far belongs to no window */
    decode_queue(self);
    count_dropped(self);
    self->offset_ns = self->order.offset_ns;
    self->refused = atomic_load(&self->in.pool.refused);
    cupti_decoder_window_open(&self->decoder, self->order.start_ns, self->order.by_time);
    break;
  case ORDER_DRAIN: carry_out_drain(self); break;
  case ORDER_CLOSE: cupti_decoder_window_close(&self->decoder); break;
  case ORDER_FORCE: /* unfinished kernels come back without an end: each is counted as having no time */
    (void)self->session.api->ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    decode_queue(self);
    count_dropped(self);
    break;
  case ORDER_PARK: self->parked = true; break;
  case ORDER_RESUME:
    self->parked = false;
    decode_queue(self);
    break;
  case ORDER_COUNT:
    self->order.counts = self->decoder.counts;
    self->order.counts.buffer_bytes = atomic_load(&self->in.pool.bytes);
    break;
  case ORDER_NONE:
  case ORDER_QUIT: break;
  }
}

static void *run(void *collect_) {
  cupti_collect *collect = collect_;
  (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 5); /* a kindness only: where it is refused, nothing is lost */
  if (collect->record && collect->record->name_thread)
    collect->record->name_thread(collect->record, "pdhost cupti decoder");
  for (;;) {
    while (sem_wait(&collect->in.work) && errno == EINTR) {}
    if (!collect->parked) decode_queue(collect);
    pthread_mutex_lock(&collect->lock);
    order what = collect->pending;
    pthread_mutex_unlock(&collect->lock);
    if (what == ORDER_NONE) continue;
    carry_out(collect, what);
    pthread_mutex_lock(&collect->lock);
    collect->pending = ORDER_NONE;
    pthread_cond_signal(&collect->done);
    pthread_mutex_unlock(&collect->lock);
    if (what == ORDER_QUIT) return NULL;
  }
}

/* ---- the loop's thread ------------------------------------------------------------------------------------- */

/* Has the decoder's thread do `what` and waits until it has. */
static void order_and_wait(cupti_collect *self, order what) {
  pthread_mutex_lock(&self->lock);
  self->pending = what;
  sem_post(&self->in.work);
  while (self->pending != ORDER_NONE) pthread_cond_wait(&self->done, &self->lock);
  pthread_mutex_unlock(&self->lock);
}

static pd_status start_thread(cupti_collect *self) {
  if (sem_init(&self->in.work, 0, 0)) return PD_NO_MEMORY;
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->done, NULL);
  self->mutex_made = true;
  const int failed = pd_thread_start(&self->thread, run, self);
  self->thread_runs = !failed;
  return failed ? PD_NO_MEMORY : PD_OK;
}

static pd_status attach(cupti_collect *self, char *why, size_t why_bytes) {
  atomic_fetch_add(&self->in.pool.session, 1);
  pd_status status =
      cupti_session_attach(&self->session, cupti_callbacks_request, cupti_callbacks_complete, why, why_bytes);
  if (status == PD_OK) order_and_wait(self, ORDER_SESSION);
  return status;
}

/* Releases all but the buffers that CUPTI holds; returns the last counts. */
static cupti_counts destroy(cupti_collect *self) {
  if (self->thread_runs) {
    order_and_wait(self, ORDER_QUIT);
    pthread_join(self->thread, NULL);
  }
  cupti_callbacks_end(&self->in);
  const cupti_counts last = self->decoder.counts;
  cupti_decoder_free(&self->decoder);
  cupti_allowlist_free(&self->calls);
  (void)cupti_buffers_close(&self->in.pool);
  if (self->mutex_made) {
    pthread_cond_destroy(&self->done);
    pthread_mutex_destroy(&self->lock);
    sem_destroy(&self->in.work);
  }
  free(self);
  return last;
}

static pd_status no_memory(char *why, size_t why_bytes) {
  snprintf(why, why_bytes, "no memory for CUPTI's collector");
  return PD_NO_MEMORY;
}

pd_status cupti_collect_open(const cupti_collect_config *config, cupti_collect **out, char *why, size_t why_bytes) {
  cupti_collect *collect = NULL;
  pd_status status = PD_OK;
  *out = NULL;
  cupti_callbacks_watch_forks();
  if (cupti_callbacks_forked()) {
    snprintf(why, why_bytes, "CUPTI does not work in a forked child");
    return PD_UNSUPPORTED;
  }
  collect = calloc(1, sizeof *collect);
  if (!collect) return no_memory(why, why_bytes);
  collect->record = config->record;
  collect->between = config->between;
  if (collect->between == CUPTI_BETWEEN_AUTO) collect->between = CUPTI_BETWEEN_DETACH;
  collect->session.api = config->api;
  collect->session.calls = &collect->calls;
  collect->session.sync = config->sync;
  occupancy_init(&collect->fullness, config->props);
  cupti_decoder_init(&collect->decoder, config->api, config->record, &collect->calls, &collect->fullness);
  if ((status = cupti_allowlist_build(&collect->calls, config->api, config->sync)) != PD_OK ||
      (status = cupti_buffers_open(&collect->in.pool, config->max_bytes, SMALL_AT_START, LARGE_AT_START)) != PD_OK ||
      (status = start_thread(collect)) != PD_OK) {
    no_memory(why, why_bytes);
    goto out;
  }
  if (!cupti_callbacks_begin(&collect->in)) {
    snprintf(why, why_bytes, "another device of this process is being profiled; CUPTI serves one");
    status = PD_UNSUPPORTED;
    goto out;
  }
  if ((status = attach(collect, why, why_bytes)) != PD_OK) goto out;
  *out = collect;
  collect = NULL;
out:
  if (collect) (void)destroy(collect);
  return status;
}

static void detach(cupti_collect *self) {
  if (!self->session.attached) return;
  order_and_wait(self, ORDER_FORCE);
  cupti_session_disable(&self->session);
  order_and_wait(self, ORDER_PARK); /* no call of CUPTI beside cuptiFinalize, which gives buffers back itself */
  cupti_session_detach(&self->session);
  order_and_wait(self, ORDER_RESUME);
}

cupti_counts cupti_collect_close(cupti_collect *self) {
  cupti_drained drained;
  if (!self || cupti_callbacks_forked()) return (cupti_counts){0}; /* a child leaves its parent's things alone */
  if (self->window_open) {
    cupti_collect_stop(self);
    order_and_wait(self, ORDER_FORCE);
    cupti_collect_drain(self, 0, &drained);
  }
  detach(self);
  return destroy(self);
}

pd_status cupti_collect_start(cupti_collect *self, char *why, size_t why_bytes) {
  if (cupti_callbacks_forked()) {
    snprintf(why, why_bytes, "CUPTI does not work in a forked child");
    return PD_UNSUPPORTED;
  }
  if (!self->session.attached) {
    pd_status status = attach(self, why, why_bytes);
    if (status != PD_OK) return status;
  }
  self->order.start_ns = pd_clock_ns(CLOCK_REALTIME);
  self->order.offset_ns = clock_offset_ns();
  self->order.by_time = self->windows_done;
  order_and_wait(self, ORDER_OPEN);
  self->window_open = true;
  self->stopped = false;
  pd_status status = cupti_session_enable(&self->session, why, why_bytes);
  if (status != PD_OK) {
    order_and_wait(self, ORDER_CLOSE);
    self->window_open = false;
  }
  return status;
}

void cupti_collect_stop(cupti_collect *self) {
  if (!self->window_open || self->stopped) return;
  self->order.epoch = atomic_fetch_add(&self->in.pool.epoch, 1);
  self->order.stop_ns = pd_clock_ns(CLOCK_REALTIME);
  self->order.thread = (uint32_t)gettid();
  self->stopped = true;
}

void cupti_collect_drain(cupti_collect *self, int64_t timeout_ns, cupti_drained *drained) {
  memset(drained, 0, sizeof *drained);
  if (!self->window_open || cupti_callbacks_forked()) return;
  cupti_collect_stop(self);
  int64_t now = pd_clock_ns(CLOCK_MONOTONIC);
  memset(&self->order.drained, 0, sizeof self->order.drained);
  self->order.deadline_ns = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
  order_and_wait(self, ORDER_DRAIN);
  self->window_open = false;
  *drained = self->order.drained;
  self->windows_done = true;
  /* Ids are shared until the library is given back. That is not done while the device still works for it; and then no
   * kind is switched off either, since doing so beside another thread's calls is what makes them share ids. */
  bool give_back = self->between == CUPTI_BETWEEN_DETACH || drained->twins > 0;
  if (give_back && drained->complete)
    detach(self);
  else if (self->between == CUPTI_BETWEEN_DISABLE && !give_back)
    cupti_session_disable(&self->session);
}

void cupti_collect_counts(cupti_collect *self, cupti_counts *counts) {
  memset(counts, 0, sizeof *counts);
  if (cupti_callbacks_forked()) return;
  order_and_wait(self, ORDER_COUNT);
  *counts = self->order.counts;
}

int32_t cupti_collect_failed(const cupti_collect *self) { return atomic_load(&self->session.failed); }
