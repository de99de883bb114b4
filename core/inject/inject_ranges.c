/* See inject_ranges.h. */
#include "inject_ranges.h"

#include "inject_names.h"

#include "capture/format.h"

#include <pdhost/clocks.h>
#include <pdhost/record.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 512, DEPTH = 64, NAMES = 256, LONGEST = INJECT_RANGES_LONGEST };
/* Ranges that are open at a time and end by their number; a power of two. A start looks at SPAN_TRIES places. */
enum { SPANS = 4096, SPAN_TRIES = 64 };

typedef struct open_range {
  int64_t start_ns;
  const char *domain;
  uint32_t name, domain_name; /* string ids; name 0: it is not kept */
} open_range;

/* A name that the thread has written; two of one hash would share a name, at odds of one in 2^64 a pair. */
typedef struct known_name {
  uint64_t hash;
  uint32_t id, reserved;
} known_name;

/* A range that ends by its number, which no other one has: its place is the number's remainder by SPANS. */
typedef struct open_span {
  _Atomic uint64_t number; /* 0: the place is free; SPAN_MOVES: a thread fills or empties it */
  open_range range;
} open_span;
#define SPAN_MOVES UINT64_MAX

typedef struct range_thread {
  _Atomic uint32_t taken;
  uint32_t depth; /* may be beyond DEPTH: those are not kept */
  ring_lane rows, spans, strings, code;
  open_range open[DEPTH];
  known_name names[NAMES];
} range_thread;

const char inject_ranges_no_room[] = "";
static ring_writer *_Atomic used;
static _Atomic bool still;
static range_thread *_Atomic pool;
static _Atomic uint32_t places; /* of the pool that are taken */
static open_span spans[SPANS];
static _Atomic uint64_t spans_begun;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local range_thread *mine __attribute__((tls_model("initial-exec")));

/* The thread ends: its blocks are the reader's, its place another thread's. */
static void give_back(void *thread) {
  range_thread *self = thread;
  if (atomic_load(&used)) {
    ring_lane_close(&self->rows);
    ring_lane_close(&self->spans);
    ring_lane_close(&self->strings);
    ring_lane_close(&self->code);
  }
  mine = NULL;
  atomic_store_explicit(&self->taken, 0, memory_order_release);
  atomic_fetch_sub_explicit(&places, 1, memory_order_release);
}

static void prepare(void) {
  void *at = mmap(NULL, THREADS * sizeof(range_thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at != MAP_FAILED && pthread_key_create(&key, give_back) == 0) atomic_store(&pool, at);
}

void inject_ranges_prepare(void) { (void)pthread_once(&once, prepare); }

void inject_ranges_use(ring_writer *ring) { atomic_store_explicit(&used, ring, memory_order_release); }

void inject_ranges_pause(bool paused) { atomic_store_explicit(&still, paused, memory_order_release); }

/* A thread without one comes here with each of its ranges: while all are taken it looks at one number. */
static range_thread *take_place(void) {
  range_thread *all = atomic_load_explicit(&pool, memory_order_acquire);
  for (uint32_t i = 0; all && i < THREADS && atomic_load_explicit(&places, memory_order_acquire) < THREADS; i++) {
    uint32_t taken = 0;
    if (atomic_load_explicit(&all[i].taken, memory_order_relaxed) ||
        !atomic_compare_exchange_strong(&all[i].taken, &taken, 1))
      continue;
    atomic_fetch_add_explicit(&places, 1, memory_order_relaxed);
    all[i].depth = 0;
    all[i].rows = all[i].spans = all[i].strings = all[i].code = (ring_lane){0};
    memset(all[i].names, 0, sizeof all[i].names);
    mine = &all[i];
    (void)pthread_setspecific(key, mine);
    return mine;
  }
  return NULL;
}

static bool put_name(range_thread *self, uint32_t id, const char *text, size_t bytes) {
  struct {
    capture_string head;
    char text[LONGEST];
  } row = {.head = {.id = id, .bytes = (uint32_t)bytes}};
  const size_t padded = (bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
  memcpy(row.text, text, bytes);
  return ring_put(&self->strings, &row, (uint32_t)(sizeof row.head + padded), 1);
}

/* 0: there was no room for it. */
static uint32_t name_id(range_thread *self, const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  const size_t bytes = strnlen(text, LONGEST);
  for (size_t i = 0; i < bytes; i++) {
    hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 29;
  }
  known_name *known = &self->names[(hash >> 32) % NAMES];
  if (known->id && known->hash == hash) return known->id;
  const uint32_t id = inject_names_next();
  if (!put_name(self, id, text, bytes)) return 0;
  *known = (known_name){.hash = hash, .id = id};
  return id;
}

/* The calling thread's state with its lanes open; NULL: nothing is recorded now, or there are too many threads. */
static range_thread *thread_now(void) {
  ring_writer *ring = atomic_load_explicit(&used, memory_order_acquire);
  if (!ring) return NULL;
  range_thread *self = mine ? mine : take_place();
  if (self && !self->rows.ring) {
    const uint32_t tid = (uint32_t)gettid();
    self->rows =
        (ring_lane){.ring = ring, .kind = CAPTURE_ANNOTATIONS, .thread = tid, .row_bytes = sizeof(capture_annotation)};
    self->spans =
        (ring_lane){.ring = ring, .kind = CAPTURE_SPANS, .thread = tid, .row_bytes = sizeof(capture_annotation)};
    self->strings = (ring_lane){.ring = ring, .kind = CAPTURE_STRINGS, .thread = tid, .row_bytes = CAPTURE_ALIGN};
    self->code = (ring_lane){.ring = ring, .kind = CAPTURE_CODE, .thread = tid, .row_bytes = sizeof(capture_code)};
  }
  return self;
}

/* The same for a range, which is lost without one. */
static range_thread *thread_of_range(void) {
  range_thread *self = thread_now();
  ring_writer *ring = self ? NULL : atomic_load_explicit(&used, memory_order_acquire);
  if (ring && !atomic_load_explicit(&still, memory_order_acquire)) ring_lost(ring, PD_LOSS_RANGES_FULL, 1);
  return self;
}

static void put_row(ring_lane *rows, const open_range *range, int64_t end_ns) {
  const capture_annotation row = {
      .start_ns = range->start_ns, .end_ns = end_ns, .name = range->name, .domain = range->domain_name};
  if (atomic_load_explicit(&still, memory_order_acquire)) return;
  if (!ring_put(rows, &row, sizeof row, 1)) ring_lost(rows->ring, PD_LOSS_RANGES_FULL, 1);
}

static open_range begin(range_thread *self, const char *domain, const char *name) {
  open_range range = {.start_ns = pd_clock_ns(CLOCK_REALTIME), .domain = domain};
  const bool is_kept = name != inject_ranges_no_room && domain != inject_ranges_no_room;
  if (is_kept) range.name = name_id(self, name ? name : "");
  if (is_kept && domain) range.domain_name = name_id(self, domain);
  if (!range.name) ring_lost(self->rows.ring, PD_LOSS_RANGES_FULL, 1);
  return range;
}

int inject_ranges_push(const char *domain, const char *name) {
  range_thread *self = thread_of_range();
  if (!self) return -1;
  if (self->depth < DEPTH)
    self->open[self->depth] = begin(self, domain, name);
  else
    ring_lost(self->rows.ring, PD_LOSS_RANGES_FULL, 1);
  return (int)self->depth++;
}

/* One that was opened before the recording began is not there. */
int inject_ranges_pop(const char *domain) {
  range_thread *self = mine;
  if (!self || !self->depth || !atomic_load_explicit(&used, memory_order_acquire)) return -1;
  if (self->depth-- > DEPTH) return (int)self->depth;
  uint32_t at = self->depth;
  while (at && self->open[at].domain != domain) at--;
  if (self->open[at].domain != domain) {
    self->depth++;
    return -1;
  }
  const open_range range = self->open[at];
  memmove(&self->open[at], &self->open[at + 1], (self->depth - at) * sizeof range);
  if (range.name) put_row(&self->rows, &range, pd_clock_ns(CLOCK_REALTIME));
  return (int)self->depth;
}

void inject_ranges_mark(const char *domain, const char *name) {
  range_thread *self = thread_of_range();
  if (!self) return;
  const open_range moment = begin(self, domain, name);
  if (moment.name) put_row(&self->rows, &moment, moment.start_ns);
}

uint64_t inject_ranges_start(const char *domain, const char *name) {
  range_thread *self = thread_of_range();
  if (!self) return 0;
  const open_range range = begin(self, domain, name);
  for (int i = 0; range.name && i < SPAN_TRIES; i++) {
    const uint64_t number = atomic_fetch_add_explicit(&spans_begun, 1, memory_order_relaxed) + 1;
    open_span *place = &spans[number % SPANS];
    uint64_t none = 0;
    if (!atomic_compare_exchange_strong_explicit(&place->number, &none, SPAN_MOVES, memory_order_acquire,
                                                 memory_order_relaxed))
      continue; /* one that has been open for long */
    place->range = range;
    atomic_store_explicit(&place->number, number, memory_order_release);
    return number;
  }
  if (range.name) ring_lost(self->rows.ring, PD_LOSS_RANGES_FULL, 1);
  return 0;
}

/* The name was written by the thread that began it, under a number that holds for the process. */
void inject_ranges_end(uint64_t number) {
  open_span *place = &spans[number % SPANS];
  uint64_t expected = number;
  if (!number || number == SPAN_MOVES ||
      !atomic_compare_exchange_strong_explicit(&place->number, &expected, SPAN_MOVES, memory_order_acquire,
                                               memory_order_relaxed))
    return;
  const open_range range = place->range;
  atomic_store_explicit(&place->number, 0, memory_order_release);
  range_thread *self = thread_of_range();
  if (self) put_row(&self->spans, &range, pd_clock_ns(CLOCK_REALTIME));
}

bool inject_ranges_code(uint32_t thread, const char *place) {
  range_thread *self = thread_now();
  if (!self) return false;
  const capture_code row = {
      .ns = pd_clock_ns(CLOCK_REALTIME), .thread = thread, .place = name_id(self, place ? place : "")};
  if (row.place) (void)ring_put(&self->code, &row, sizeof row, 1); /* one sample less is no loss */
  return true;
}
