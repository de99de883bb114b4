/* Three parties: the loop's thread gives orders, the decoder's thread carries them out one at a time, CUPTI's callbacks
 * hand buffers over. The one lock guards the order; it is never held across a call of CUPTI, and no callback takes it.
 */
#include "cupti_collect.h"

#include "cupti_buffers.h"
#include "cupti_session.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
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
  cupti_buffers pool;
  cupti_between between;
  const pd_record *record;
  sem_t work; /* a buffer is complete, the pool is low, or there is an order */
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

/* CUPTI's buffer callbacks carry no argument of ours. */
static _Atomic(cupti_collect *) live;
static _Atomic uint32_t callbacks_under_way;
static _Atomic bool forked;

/* ---- callbacks: any thread, inside CUPTI ------------------------------------------------------------------- */

static void CUPTIAPI on_request(uint8_t **buffer, size_t *bytes, size_t *max_records) {
  atomic_fetch_add(&callbacks_under_way, 1);
  cupti_collect *collect = atomic_load(&live);
  *buffer = NULL;
  *bytes = 0;
  *max_records = 0; /* as many as fit */
  if (collect) {
    *buffer = cupti_buffers_take(&collect->pool, bytes);
    if (cupti_buffers_low(&collect->pool)) sem_post(&collect->work);
  }
  atomic_fetch_sub(&callbacks_under_way, 1);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid) {
  (void)context;
  (void)stream;
  (void)bytes;
  atomic_fetch_add(&callbacks_under_way, 1);
  cupti_collect *collect = atomic_load(&live);
  if (collect && cupti_buffers_complete(&collect->pool, buffer, valid)) sem_post(&collect->work);
  atomic_fetch_sub(&callbacks_under_way, 1);
}

/* A child has CUPTI's state but none of its threads, nor ours. */
static void after_fork(void) {
  atomic_store(&forked, true);
  atomic_store(&live, NULL);
}

/* ---- the decoder's thread ---------------------------------------------------------------------------------- */

/* Of the reading that was held up least: a thread may lose its core between two clocks. */
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

static bool clock_was_set(const cupti_collect *collect) {
  int64_t step_ns = clock_offset_ns() - collect->offset_ns;
  return step_ns > CLOCK_STEP_NS || step_ns < -CLOCK_STEP_NS;
}

static void decode_queue(cupti_collect *collect) {
  cupti_buffer *buffer = cupti_buffers_pull(&collect->pool);
  if (buffer && clock_was_set(collect)) { /* times from before and after cannot be compared: too much beats nothing */
    collect->decoder.by_time = false;
    collect->decoder.window_stop_ns = INT64_MAX;
  }
  while (buffer) {
    cupti_buffer *next = cupti_buffers_following(&collect->pool, buffer);
    if (atomic_load(&buffer->session) == atomic_load(&collect->pool.session))
      cupti_decoder_buffer(&collect->decoder, atomic_load(&buffer->data), buffer->valid_bytes);
    else
      cupti_decoder_skip(&collect->decoder, atomic_load(&buffer->data), buffer->valid_bytes);
    cupti_buffers_release(&collect->pool, buffer);
    buffer = next;
  }
  cupti_buffers_refill(&collect->pool);
}

/* Asking sets the library's count to zero. What was dropped outside windows was nobody's: after it has been attached
 * anew, CUPTI 13.0 counts one. */
static void count_dropped(cupti_collect *collect) {
  size_t dropped = 0;
  if (collect->session.api->ActivityGetNumDroppedRecords(NULL, 0, &dropped) != CUPTI_SUCCESS || !dropped) return;
  if (!collect->decoder.keep) return;
  collect->decoder.counts.dropped += dropped;
  if (collect->record && collect->record->lost)
    collect->record->lost(collect->record, PD_LOSS_RECORDS_DROPPED, dropped);
}

/* Asks CUPTI for whatever is complete until nothing is due. A completion may come after the flush has returned, and a
 * running kernel keeps its whole buffer back, so the flush's own result says nothing. */
static void carry_out_drain(cupti_collect *collect) {
  int64_t pause_ns = FIRST_POLL_NS, progress_ns = 0;
  uint64_t due_before = UINT64_MAX;
  cupti_drained *drained = &collect->order.drained;
  cupti_decoder_window_stop(&collect->decoder, collect->order.stop_ns);
  for (;;) {
    (void)collect->session.api->ActivityFlushAll(0);
    /* Counted before the queue is read: what is given back in between is in the queue then. */
    const cupti_held held = cupti_buffers_held(&collect->pool, collect->order.epoch, collect->order.thread);
    decode_queue(collect);
    drained->polls++;
    drained->held = held.own + held.others;
    drained->others_held = held.others;
    drained->complete = cupti_decoder_settle(&collect->decoder) && !drained->held;
    int64_t now = pd_clock_ns(CLOCK_MONOTONIC);
    drained->loop_complete |= drained->complete;
    if (drained->complete || now >= collect->order.deadline_ns) break;
    if (drained->loop_complete ||
        (!held.own && cupti_match_complete_for(&collect->decoder.match, collect->order.thread))) {
      drained->loop_complete = true;
      uint64_t due = drained->held + collect->decoder.match.pending;
      if (due < due_before) due_before = due, progress_ns = now;
      if (now - progress_ns > OTHERS_NS) break;
    }
    struct timespec pause = {.tv_nsec = (long)pause_ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    pause_ns = pause_ns * 2 > LONGEST_POLL_NS ? LONGEST_POLL_NS : pause_ns * 2;
  }
  count_dropped(collect);
  const cupti_match *match = &collect->decoder.match;
  drained->refused = atomic_load(&collect->pool.refused) - collect->refused;
  drained->twins = collect->decoder.parted;
  drained->graphs_empty = match->graph_count > 0 && match->graph_rows == 0;
  cupti_decoder_window_close(&collect->decoder); /* at once: a call that comes now would miss its device record */
  drained->early_ns = collect->decoder.early_ns; /* of what waited until then too */
  drained->pending = match->pending;
  drained->nodes = cupti_match_nodes(match);
}

static void carry_out(cupti_collect *collect, order what) {
  switch (what) {
  case ORDER_SESSION: cupti_decoder_session(&collect->decoder); break;
  case ORDER_OPEN: /* what has come so far belongs to no window */
    decode_queue(collect);
    count_dropped(collect);
    collect->offset_ns = collect->order.offset_ns;
    collect->refused = atomic_load(&collect->pool.refused);
    cupti_decoder_window_open(&collect->decoder, collect->order.start_ns, collect->order.by_time);
    break;
  case ORDER_DRAIN: carry_out_drain(collect); break;
  case ORDER_CLOSE: cupti_decoder_window_close(&collect->decoder); break;
  case ORDER_FORCE: /* unfinished kernels come back without an end: each is counted as having no time */
    (void)collect->session.api->ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    decode_queue(collect);
    count_dropped(collect);
    break;
  case ORDER_PARK: collect->parked = true; break;
  case ORDER_RESUME:
    collect->parked = false;
    decode_queue(collect);
    break;
  case ORDER_COUNT:
    collect->order.counts = collect->decoder.counts;
    collect->order.counts.buffer_bytes = atomic_load(&collect->pool.bytes);
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
    while (sem_wait(&collect->work) && errno == EINTR) {}
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
static void order_and_wait(cupti_collect *collect, order what) {
  pthread_mutex_lock(&collect->lock);
  collect->pending = what;
  sem_post(&collect->work);
  while (collect->pending != ORDER_NONE) pthread_cond_wait(&collect->done, &collect->lock);
  pthread_mutex_unlock(&collect->lock);
}

static pd_status start_thread(cupti_collect *collect) {
  sigset_t all, before;
  if (sem_init(&collect->work, 0, 0)) return PD_NO_MEMORY;
  pthread_mutex_init(&collect->lock, NULL);
  pthread_cond_init(&collect->done, NULL);
  collect->mutex_made = true;
  sigfillset(&all); /* signals are the loop's */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&collect->thread, NULL, run, collect);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  collect->thread_runs = !failed;
  return failed ? PD_NO_MEMORY : PD_OK;
}

static pd_status attach(cupti_collect *collect, char *why, size_t why_bytes) {
  atomic_fetch_add(&collect->pool.session, 1);
  pd_status status = cupti_session_attach(&collect->session, on_request, on_complete, why, why_bytes);
  if (status == PD_OK) order_and_wait(collect, ORDER_SESSION);
  return status;
}

/* Releases all but the buffers that CUPTI holds; returns the last counts. */
static cupti_counts destroy(cupti_collect *collect) {
  if (collect->thread_runs) {
    order_and_wait(collect, ORDER_QUIT);
    pthread_join(collect->thread, NULL);
  }
  cupti_collect *self = collect;
  atomic_compare_exchange_strong(&live, &self, NULL);
  while (atomic_load(&callbacks_under_way)) sched_yield(); /* they neither wait nor loop */
  const cupti_counts last = collect->decoder.counts;
  cupti_decoder_free(&collect->decoder);
  cupti_allowlist_free(&collect->calls);
  (void)cupti_buffers_close(&collect->pool);
  if (collect->mutex_made) {
    pthread_cond_destroy(&collect->done);
    pthread_mutex_destroy(&collect->lock);
    sem_destroy(&collect->work);
  }
  free(collect);
  return last;
}

static pd_status no_memory(char *why, size_t why_bytes) {
  snprintf(why, why_bytes, "no memory for CUPTI's collector");
  return PD_NO_MEMORY;
}

pd_status cupti_collect_open(const cupti_collect_config *config, cupti_collect **out, char *why, size_t why_bytes) {
  static _Atomic bool fork_hook;
  cupti_collect *nobody = NULL, *collect = NULL;
  pd_status status = PD_OK;
  *out = NULL;
  if (!atomic_exchange(&fork_hook, true)) pthread_atfork(NULL, NULL, after_fork);
  if (atomic_load(&forked)) {
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
      (status = cupti_buffers_open(&collect->pool, config->max_bytes, SMALL_AT_START, LARGE_AT_START)) != PD_OK ||
      (status = start_thread(collect)) != PD_OK) {
    no_memory(why, why_bytes);
    goto out;
  }
  if (!atomic_compare_exchange_strong(&live, &nobody, collect)) {
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

static void detach(cupti_collect *collect) {
  if (!collect->session.attached) return;
  order_and_wait(collect, ORDER_FORCE);
  cupti_session_disable(&collect->session);
  order_and_wait(collect, ORDER_PARK); /* no call of CUPTI beside cuptiFinalize, which gives buffers back itself */
  cupti_session_detach(&collect->session);
  order_and_wait(collect, ORDER_RESUME);
}

cupti_counts cupti_collect_close(cupti_collect *collect) {
  cupti_drained drained;
  if (!collect || atomic_load(&forked)) return (cupti_counts){0}; /* a child leaves its parent's things alone */
  if (collect->window_open) {
    cupti_collect_stop(collect);
    order_and_wait(collect, ORDER_FORCE);
    cupti_collect_drain(collect, 0, &drained);
  }
  detach(collect);
  return destroy(collect);
}

pd_status cupti_collect_start(cupti_collect *collect, char *why, size_t why_bytes) {
  if (atomic_load(&forked)) {
    snprintf(why, why_bytes, "CUPTI does not work in a forked child");
    return PD_UNSUPPORTED;
  }
  if (!collect->session.attached) {
    pd_status status = attach(collect, why, why_bytes);
    if (status != PD_OK) return status;
  }
  collect->order.start_ns = pd_clock_ns(CLOCK_REALTIME);
  collect->order.offset_ns = clock_offset_ns();
  collect->order.by_time = collect->windows_done;
  order_and_wait(collect, ORDER_OPEN);
  collect->window_open = true;
  collect->stopped = false;
  pd_status status = cupti_session_enable(&collect->session, why, why_bytes);
  if (status != PD_OK) {
    order_and_wait(collect, ORDER_CLOSE);
    collect->window_open = false;
  }
  return status;
}

void cupti_collect_stop(cupti_collect *collect) {
  if (!collect->window_open || collect->stopped) return;
  collect->order.epoch = atomic_fetch_add(&collect->pool.epoch, 1);
  collect->order.stop_ns = pd_clock_ns(CLOCK_REALTIME);
  collect->order.thread = (uint32_t)gettid();
  collect->stopped = true;
}

void cupti_collect_drain(cupti_collect *collect, int64_t timeout_ns, cupti_drained *drained) {
  memset(drained, 0, sizeof *drained);
  if (!collect->window_open || atomic_load(&forked)) return;
  cupti_collect_stop(collect);
  int64_t now = pd_clock_ns(CLOCK_MONOTONIC);
  memset(&collect->order.drained, 0, sizeof collect->order.drained);
  collect->order.deadline_ns = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
  order_and_wait(collect, ORDER_DRAIN);
  collect->window_open = false;
  *drained = collect->order.drained;
  collect->windows_done = true;
  /* Ids are shared until the library is given back. That is not done while the device still works for it; and then no
   * kind is switched off either, since doing so beside another thread's calls is what makes them share ids. */
  bool give_back = collect->between == CUPTI_BETWEEN_DETACH || drained->twins > 0;
  if (give_back && drained->complete)
    detach(collect);
  else if (collect->between == CUPTI_BETWEEN_DISABLE && !give_back)
    cupti_session_disable(&collect->session);
}

void cupti_collect_counts(cupti_collect *collect, cupti_counts *counts) {
  memset(counts, 0, sizeof *counts);
  if (atomic_load(&forked)) return;
  order_and_wait(collect, ORDER_COUNT);
  *counts = collect->order.counts;
}

int32_t cupti_collect_failed(const cupti_collect *collect) { return atomic_load(&collect->session.failed); }
