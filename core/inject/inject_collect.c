/* See inject_collect.h. The library is never given back: CUPTI may call until the process has ended. */
#include "inject_collect.h"

#include "inject_cupti.h"
#include "inject_decode.h"
#include "inject_ranges.h"
#include "inject_wait.h"

#include "capture/format.h"
#include "capture/ring_write.h"
#include "devices/cuda/cupti/cupti_buffers.h"
#include "devices/cuda/cupti/cupti_session.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* A record is out of the process at most this long after it was made, and what is in CUPTI's own hands after FLUSH_MS:
 * a killed program loses no more. While nothing is recorded it looks every IDLE_MS. */
enum {
  LOOK_MS = 20,
  GONE_MS = 1000, /* so often it is asked whether pdhost is still there */
  FLUSH_MS = 200,
  IDLE_MS = 100,
  POOL_BYTES = 44 << 20,
  FEWEST_BLOCKS = 16,
  KERNELS_WITHOUT_CALLS = 100
};
/* So long a flush that runs already is waited for where there is no later chance: by a thread of the program whose
 * context ends, and at the end of what is recorded. */
#define LAST_CHANCE_NS INT64_C(100000000)
/* Where there is one the collector goes on with its other work. */
#define ROUND_NS (LOOK_MS * INT64_C(1000000))

static struct {
  inject_board *board;
  cupti_api api;
  cupti_allowlist calls;
  cupti_session session;
  cupti_buffers pool;
  ring_writer ring;
  inject_decoder decoder;
  int64_t flushed_ms, asked_ms;
  capture_pause pause; /* start_ns 0: the recording is not paused */
  bool refused, ended;
} self;

/* The callbacks ask these alone, so that a forked child is out with one store. */
static _Atomic bool alive, wanted, leaving, yielding;

static inject_event work, left, yielded;
/* CUPTI does not say that two flushes may run at a time: each has this first. */
static inject_event may_flush = 1;
/* How many flushes have begun, and which of them was waited for in vain: nobody waits for that one again. */
static _Atomic uint32_t flushes = 1, in_vain;
/* Contexts that ended without a flush. */
static _Atomic uint32_t unflushed;

static int64_t now_ms(void) { return pd_monotonic_ns() / 1000000; }

/* ---- callbacks: the program's threads, inside CUPTI ---------------------------------------------------------- */

static void CUPTIAPI on_request(uint8_t **buffer, size_t *bytes, size_t *max_records) {
  const int kept = errno;
  *buffer = NULL;
  *bytes = 0;
  *max_records = 0; /* as many as fit */
  if (atomic_load_explicit(&alive, memory_order_acquire)) {
    *buffer = cupti_buffers_take(&self.pool, bytes);
    atomic_store_explicit(&wanted, true, memory_order_relaxed);
    if (cupti_buffers_low(&self.pool)) inject_wait_tell(&work);
  }
  errno = kept;
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid) {
  (void)context;
  (void)stream;
  (void)bytes;
  if (atomic_load_explicit(&alive, memory_order_acquire)) (void)cupti_buffers_complete(&self.pool, buffer, valid);
}

/* False: another flush did not end in time. */
static bool flush_cupti(uint32_t flag, int64_t patience_ns) {
  if (!inject_wait_turn(&may_flush, atomic_load(&in_vain) == atomic_load(&flushes) ? 0 : patience_ns)) {
    if (patience_ns >= LAST_CHANCE_NS) atomic_store(&in_vain, atomic_load(&flushes));
    return false;
  }
  atomic_fetch_add(&flushes, 1);
  (void)self.api.ActivityFlushAll(flag);
  inject_wait_tell(&may_flush);
  return true;
}

/* A context ends: later its records may not be had any more. CUPTI's flush does not wait for the device. */
static void on_leaving(void) {
  const int kept = errno;
  if (atomic_load_explicit(&alive, memory_order_acquire)) {
    if (!flush_cupti(0, LAST_CHANCE_NS)) atomic_fetch_add(&unflushed, 1);
    inject_wait_tell(&work);
  }
  errno = kept;
}

/* ---- the collector's thread ---------------------------------------------------------------------------------- */

static void refuse(record_cause cause, const char *why) {
  self.refused = true;
  cupti_session_disable(&self.session);
  inject_board_refuse(self.board, cause, "%s", why);
}

/* With what the process has recorded by now. A ring that is smaller than wanted is better than none. */
static bool open_ring(void) {
  char path[320], why[160];
  if (!inject_board_take(self.board)) {
    refuse(RECORD_CAUSE_NO_ROOM, "too many processes are recorded"); /* counted on the board */
    return false;
  }
  (void)snprintf(path, sizeof path, "%s/%u.ring", self.board->folder, self.board->number);
  uint32_t blocks = self.board->board->ring_blocks;
  bool made = ring_create(&self.ring, path, blocks);
  while (!made && errno == ENOSPC && blocks > FEWEST_BLOCKS) made = ring_create(&self.ring, path, blocks /= 2);
  if (!made) {
    (void)snprintf(why, sizeof why, "no shared memory for what is recorded (%s)", strerror(errno));
    refuse(RECORD_CAUSE_NO_ROOM, why);
    return false;
  }
  if (!cupti_session_shares_clock(&self.api)) {
    refuse(RECORD_CAUSE_OTHER, "CUPTI's clock is not the system's, so its records cannot be placed");
    return false;
  }
  if (inject_decoder_open(&self.decoder, &self.api, &self.calls, &self.ring)) return true;
  refuse(RECORD_CAUSE_OTHER, "there is no memory");
  return false;
}

/* A ring is made once there is something to put into it: a process that launches nothing leaves nothing. */
static void decode_queue(void) {
  cupti_buffer *buffer = cupti_buffers_pull(&self.pool);
  if (buffer && !self.refused && !self.ring.head && open_ring()) {
    inject_board_state(self.board, RECORD_RUNS);
    inject_ranges_use(&self.ring);
  }
  while (buffer) {
    cupti_buffer *next = cupti_buffers_following(&self.pool, buffer);
    if (!self.refused) inject_decoder_buffer(&self.decoder, atomic_load(&buffer->data), buffer->valid_bytes);
    cupti_buffers_release(&self.pool, buffer);
    buffer = next;
  }
  if (atomic_load_explicit(&wanted, memory_order_relaxed) && !self.refused) cupti_buffers_refill(&self.pool);
}

/* Asking sets CUPTI's count to zero. */
static void count_dropped(void) {
  size_t dropped = 0;
  if (self.api.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped)
    ring_lost(&self.ring, PD_LOSS_RECORDS_DROPPED, dropped);
}

/* How many records such a context had is not known: it counts as one. */
static void count_unflushed(void) {
  const uint32_t contexts = self.ring.head ? atomic_exchange(&unflushed, 0) : 0;
  if (contexts) ring_lost(&self.ring, PD_LOSS_RECORDS_DROPPED, contexts);
}

/* False: a flush of the program's did not end in time, and what CUPTI holds is not there. */
static bool flush(bool forced, int64_t patience_ns) {
  if (!atomic_load_explicit(&wanted, memory_order_relaxed)) return true;
  const int64_t begun_ns = pd_clock_ns(CLOCK_REALTIME);
  const bool done = flush_cupti(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0, patience_ns);
  decode_queue();
  count_unflushed();
  if (!done) return false;
  if (self.session.enabled) inject_board_whole(self.board, begun_ns);
  if (self.ring.head) count_dropped();
  self.flushed_ms = now_ms();
  return true;
}

static void end(void) {
  const bool is_on = self.session.enabled; /* the program ends, and waits for its device before it does */
  const bool is_all = flush(true, LAST_CHANCE_NS) && is_on;
  inject_ranges_use(NULL);
  if (is_all) inject_board_whole(self.board, INT64_MAX);
  ring_end(&self.ring);
  if (!self.refused) inject_board_state(self.board, RECORD_DONE);
  self.ended = true;
}

/* Nothing is missing of what was before; what runs on is taken, too, as far as CUPTI has it. */
static void stand_still(void) {
  (void)flush(false, LAST_CHANCE_NS);
  cupti_session_disable(&self.session);
  inject_ranges_pause(true);
  const int64_t whole_ns = self.board->slot->whole_until_ns;
  self.pause = (capture_pause){.start_ns = whole_ns ? whole_ns : pd_clock_ns(CLOCK_REALTIME)};
  (void)flush(true, LAST_CHANCE_NS);
  for (uint32_t i = 0; self.ring.head && i < RING_LOSSES; i++) self.pause.lost[i] = ring_lost_so_far(&self.ring, i);
}

/* A ring that there is not yet has nothing from before the pause. */
static void go_on(void) {
  ring_lane rows = {.ring = &self.ring, .kind = CAPTURE_PAUSES, .row_bytes = sizeof self.pause};
  self.pause.end_ns = pd_clock_ns(CLOCK_REALTIME);
  if (self.ring.head && !ring_put(&rows, &self.pause, sizeof self.pause, 1)) {
    refuse(RECORD_CAUSE_NO_ROOM, "there was no room for the note of a pause");
    return;
  }
  ring_lane_close(&rows);
  inject_ranges_pause(false); /* what is marked from now on comes after the note */
  self.pause = (capture_pause){0};
}

static void stop(void) {
  (void)flush(false, LAST_CHANCE_NS);
  cupti_session_disable(&self.session);
  end();
}

static void obey(void) {
  char why[256];
  const record_order order = inject_board_order(self.board);
  if (self.refused || self.ended) return;
  if (!self.session.enabled) self.session.early = false; /* CUDA is up by now */
  if (order == RECORD_PAUSE && self.session.enabled) stand_still();
  if (order == RECORD_GO && !self.session.enabled && cupti_session_enable(&self.session, why, sizeof why) != PD_OK)
    refuse(RECORD_CAUSE_OTHER, why);
  else if (order == RECORD_GO && self.pause.start_ns)
    go_on();
  if (order == RECORD_STOP) stop();
}

/* CUPTI records nothing any more: what came before is whole, and the rest is missing. */
static void look_for_failure(void) {
  char why[256];
  const int32_t failed = atomic_load(&self.session.failed);
  if (!failed || self.ended || self.refused) return;
  (void)snprintf(why, sizeof why, "all that came after CUPTI had failed: %s",
                 cupti_api_explain(self.session.api, (CUptiResult)failed));
  refuse(RECORD_CAUSE_OTHER, why);
}

/* To the program's own profiler. */
static void yield_cupti(void) {
  if (!self.ended && !self.refused) {
    (void)inject_board_take(self.board);
    self.board->slot->cause = RECORD_CAUSE_YIELDED; /* before its state says that it is done */
    stop();
  }
  cupti_session_unsubscribe(&self.session);
  inject_wait_tell(&yielded);
}

/* What is recorded is not taken any more. */
static void look_for_pdhost(void) {
  const int64_t now = now_ms();
  if (self.ended || self.refused || now - self.asked_ms < GONE_MS) return;
  self.asked_ms = now;
  if (inject_board_is_orphan(self.board)) stop();
}

/* Kernels without a single call: this CUPTI wants its lists in the other way. */
static void look_for_calls(void) {
  if (self.session.early && !self.decoder.calls_seen && self.decoder.kernels_seen > KERNELS_WITHOUT_CALLS)
    cupti_session_list_again(&self.session);
}

static void wait_for_work(void) {
  const bool idle = !atomic_load_explicit(&wanted, memory_order_relaxed) || self.ended || self.refused;
  (void)inject_wait_for(&work, (idle ? IDLE_MS : LOOK_MS) * INT64_C(1000000));
  (void)atomic_exchange(&work, 0);
}

static void *collect(void *unused) {
  (void)unused;
  (void)prctl(PR_SET_NAME, "pdhost record");
  (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 5); /* a kindness only: where it is refused, nothing is lost */
  for (;;) {
    wait_for_work();
    const bool last = atomic_load_explicit(&leaving, memory_order_acquire);
    decode_queue();
    look_for_failure();
    obey();
    if (atomic_exchange(&yielding, false)) yield_cupti();
    look_for_calls();
    if (last) break;
    look_for_pdhost();
    /* The program may use a profiler of its own from now on. Not by cuptiFinalize: its threads may be inside CUDA. */
    if (self.ended || self.refused) cupti_session_unsubscribe(&self.session);
    if (!self.ended && !self.refused && now_ms() - self.flushed_ms >= FLUSH_MS) (void)flush(false, ROUND_NS);
  }
  if (!self.ended && !self.refused) end();
  inject_wait_tell(&left);
  return NULL;
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

static bool start_thread(void) {
  sigset_t all, before;
  pthread_t thread;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all); /* signals are the program's */
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&thread, &attributes, collect, NULL);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  return failed == 0;
}

/* What another profiler's subscription is called in CUPTI's answer. */
static record_cause cause_of(const char *why) {
  return strstr(why, "(39)") ? RECORD_CAUSE_SUBSCRIBER : RECORD_CAUSE_OTHER;
}

/* No thread runs that would give CUPTI back later. */
static void give_up(const char *why) {
  refuse(RECORD_CAUSE_OTHER, why);
  cupti_session_unsubscribe(&self.session);
  atomic_store_explicit(&alive, false, memory_order_release);
}

void inject_collect_start(inject_board *board) {
  char why[256];
  self.board = board;
  if (atomic_load_explicit(&yielding, memory_order_acquire)) {
    inject_board_refuse(board, RECORD_CAUSE_YIELDED, "its own profiler began before CUDA did, and has CUPTI (--yield)");
    return;
  }
  if (inject_board_order(board) == RECORD_STOP || !inject_cupti_find(board, &self.api)) return;
  self.session = (cupti_session){.api = &self.api, .calls = &self.calls, .early = true, .leaving = on_leaving};
  /* With events: a kernel that another stream waits for is no delay of the device. */
  if (cupti_allowlist_build(&self.calls, &self.api, true) != PD_OK ||
      cupti_buffers_open(&self.pool, POOL_BYTES, 1, 0) != PD_OK) {
    inject_board_refuse(board, RECORD_CAUSE_OTHER, "there is no memory");
    return;
  }
  if (cupti_session_attach(&self.session, on_request, on_complete, why, sizeof why) != PD_OK) {
    inject_board_refuse(board, cause_of(why), "%s", why);
    return;
  }
  atomic_store_explicit(&alive, true, memory_order_release);
  if (inject_board_order(board) == RECORD_GO && cupti_session_enable(&self.session, why, sizeof why) != PD_OK) {
    give_up(why);
    return;
  }
  if (!start_thread()) give_up("no thread could be made");
}

void inject_collect_leave(int64_t patience_ns) {
  if (!atomic_load_explicit(&alive, memory_order_acquire) || atomic_exchange(&leaving, true)) return;
  inject_wait_tell(&work);
  (void)inject_wait_for(&left, patience_ns);
}

void inject_collect_yield(int64_t patience_ns) {
  if (atomic_exchange(&yielding, true) || !atomic_load_explicit(&alive, memory_order_acquire)) return;
  inject_wait_tell(&work);
  (void)inject_wait_for(&yielded, patience_ns);
}

void inject_collect_forget(void) {
  atomic_store_explicit(&alive, false, memory_order_release);
  inject_ranges_use(NULL);
}
