/* The buffer pool: two free lists with counters against reuse, one list of completed buffers that is taken whole. */
#include "cupti_buffers.h"

#include <pdhost/clocks.h>

#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL_SPARE = 2, LARGE_SPARE = 2 };

/* When the thread took its last buffer, in this pool's time. A thread that fills small ones fast gets large ones. CUPTI
 * hands no buffer over that holds the record of a kernel which has not ended: a large one would keep the records of a
 * slow thread for seconds, and they would be lost if the program is killed. */
#define FAST_NS INT64_C(32000000)
static _Thread_local uint32_t thread_generation;
static _Thread_local int64_t thread_taken_ns;

static _Atomic uint32_t *count_of(cupti_buffers *self, bool large) {
  return large ? &self->free_large_count : &self->free_small_count;
}

static void push_free(cupti_buffers *self, cupti_buffer *buffer) {
  _Atomic uint64_t *list = buffer->bytes == CUPTI_LARGE_BYTES ? &self->free_large : &self->free_small;
  uint32_t place = (uint32_t)(buffer - self->slots) + 1;
  uint64_t head = atomic_load_explicit(list, memory_order_relaxed), next;
  atomic_store_explicit(&buffer->state, CUPTI_BUFFER_FREE, memory_order_relaxed);
  do {
    atomic_store_explicit(&buffer->next, (uint32_t)head, memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | place;
  } while (!atomic_compare_exchange_weak_explicit(list, &head, next, memory_order_release, memory_order_relaxed));
  atomic_fetch_add_explicit(count_of(self, buffer->bytes == CUPTI_LARGE_BYTES), 1, memory_order_relaxed);
}

static cupti_buffer *pop_free(cupti_buffers *self, bool large) {
  _Atomic uint64_t *list = large ? &self->free_large : &self->free_small;
  uint64_t head = atomic_load_explicit(list, memory_order_acquire), next;
  cupti_buffer *buffer;
  do {
    if (!(uint32_t)head) return NULL;
    buffer = &self->slots[(uint32_t)head - 1];
    /* Another thread may have taken it since; then the counter has moved and the exchange fails. */
    next = ((head >> 32) + 1) << 32 | atomic_load_explicit(&buffer->next, memory_order_relaxed);
  } while (!atomic_compare_exchange_weak_explicit(list, &head, next, memory_order_acquire, memory_order_acquire));
  atomic_fetch_sub_explicit(count_of(self, large), 1, memory_order_relaxed);
  return buffer;
}

/* Maps one more buffer, or returns NULL at the limit. */
static cupti_buffer *map_buffer(cupti_buffers *self, bool large) {
  size_t bytes = large ? CUPTI_LARGE_BYTES : CUPTI_SMALL_BYTES;
  if (atomic_fetch_add(&self->bytes, bytes) + bytes > self->max_bytes) {
    atomic_fetch_sub(&self->bytes, bytes);
    return NULL;
  }
  uint32_t slot = atomic_load(&self->used);
  do {
    if (slot == self->slot_count) {
      atomic_fetch_sub(&self->bytes, bytes);
      return NULL;
    }
  } while (!atomic_compare_exchange_weak(&self->used, &slot, slot + 1));
  cupti_buffer *buffer = &self->slots[slot];
  uint8_t *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    /* The slot stays empty: it cannot be given back without a lock, and memory is out anyway. */
    atomic_fetch_sub(&self->bytes, bytes);
    return NULL;
  }
  if (large) madvise(data, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes; at += 4096) ((volatile uint8_t *)data)[at] = 0;
  buffer->bytes = bytes;
  atomic_store_explicit(&buffer->data, data, memory_order_release);
  return buffer;
}

pd_status cupti_buffers_open(cupti_buffers *self, uint64_t max_bytes, uint32_t small, uint32_t large) {
  static _Atomic uint32_t generations;
  memset(self, 0, sizeof *self);
  self->generation = atomic_fetch_add(&generations, 1) + 1;
  self->max_bytes = max_bytes;
  self->fast_ns = FAST_NS;
  self->slot_count = max_bytes / CUPTI_SMALL_BYTES > 16384 ? 16384 : (uint32_t)(max_bytes / CUPTI_SMALL_BYTES);
  self->slots = calloc(self->slot_count + 1, sizeof *self->slots);
  if (!self->slots) return PD_NO_MEMORY;
  for (uint32_t i = 0; i < small + large; i++) {
    cupti_buffer *buffer = map_buffer(self, i >= small);
    if (buffer) push_free(self, buffer);
  }
  return PD_OK;
}

bool cupti_buffers_close(cupti_buffers *self) {
  uint32_t used = atomic_load(&self->used);
  bool all = true;
  for (uint32_t i = 0; i < used; i++) {
    cupti_buffer *buffer = &self->slots[i];
    uint8_t *data = atomic_load(&buffer->data);
    if (!data) continue;
    if (atomic_load(&buffer->state) == CUPTI_BUFFER_CUPTI) {
      all = false;
      continue;
    }
    munmap(data, buffer->bytes);
    atomic_store(&buffer->data, NULL);
  }
  free(self->slots);
  self->slots = NULL;
  return all;
}

uint8_t *cupti_buffers_take(cupti_buffers *self, size_t *bytes) {
  const int64_t now_ns = pd_monotonic_ns();
  const bool large = thread_generation == self->generation && now_ns - thread_taken_ns < self->fast_ns;
  cupti_buffer *buffer = pop_free(self, large);
  if (!buffer) buffer = map_buffer(self, large);
  if (!buffer) buffer = pop_free(self, !large);
  if (!buffer) {
    atomic_fetch_add_explicit(&self->refused, 1, memory_order_relaxed);
    *bytes = 0;
    return NULL;
  }
  thread_generation = self->generation;
  thread_taken_ns = now_ns;
  *bytes = buffer->bytes;
  atomic_store_explicit(&buffer->session, atomic_load_explicit(&self->session, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&buffer->epoch, atomic_load_explicit(&self->epoch, memory_order_relaxed), memory_order_relaxed);
  atomic_store_explicit(&buffer->thread, (uint32_t)gettid(), memory_order_relaxed);
  atomic_store_explicit(&buffer->state, CUPTI_BUFFER_CUPTI, memory_order_release);
  return atomic_load_explicit(&buffer->data, memory_order_relaxed);
}

static cupti_buffer *find(cupti_buffers *self, const uint8_t *data) {
  uint32_t used = atomic_load_explicit(&self->used, memory_order_acquire);
  for (uint32_t i = 0; i < used; i++)
    if (atomic_load_explicit(&self->slots[i].data, memory_order_acquire) == data) return &self->slots[i];
  return NULL;
}

bool cupti_buffers_complete(cupti_buffers *self, uint8_t *data, size_t valid_bytes) {
  cupti_buffer *buffer = data ? find(self, data) : NULL;
  uint32_t owner = CUPTI_BUFFER_CUPTI;
  if (!buffer || !atomic_compare_exchange_strong(&buffer->state, &owner, CUPTI_BUFFER_QUEUED)) return false;
  uint32_t place = (uint32_t)(buffer - self->slots) + 1;
  uint32_t head = atomic_load_explicit(&self->queue, memory_order_relaxed);
  buffer->valid_bytes = valid_bytes > buffer->bytes ? buffer->bytes : valid_bytes;
  do atomic_store_explicit(&buffer->next, head, memory_order_relaxed);
  while (
      !atomic_compare_exchange_weak_explicit(&self->queue, &head, place, memory_order_release, memory_order_relaxed));
  return true;
}

cupti_buffer *cupti_buffers_pull(cupti_buffers *self) {
  uint32_t at = atomic_exchange_explicit(&self->queue, 0, memory_order_acquire), reversed = 0;
  while (at) { /* newest first as taken; the decoder wants the oldest first */
    cupti_buffer *buffer = &self->slots[at - 1];
    uint32_t next = atomic_load_explicit(&buffer->next, memory_order_relaxed);
    atomic_store_explicit(&buffer->state, CUPTI_BUFFER_DECODING, memory_order_relaxed);
    atomic_store_explicit(&buffer->next, reversed, memory_order_relaxed);
    reversed = at;
    at = next;
  }
  return reversed ? &self->slots[reversed - 1] : NULL;
}

cupti_buffer *cupti_buffers_following(cupti_buffers *self, const cupti_buffer *buffer) {
  uint32_t next = atomic_load_explicit(&buffer->next, memory_order_relaxed);
  return next ? &self->slots[next - 1] : NULL;
}

void cupti_buffers_release(cupti_buffers *self, cupti_buffer *buffer) {
  /* All of it: CUPTI may have written after the valid part, and relies on zeroes. */
  memset(atomic_load_explicit(&buffer->data, memory_order_relaxed), 0, buffer->bytes);
  push_free(self, buffer);
}

static bool is_low(cupti_buffers *self, bool large) {
  const uint32_t spare = large ? LARGE_SPARE : SMALL_SPARE;
  return (int32_t)atomic_load_explicit(count_of(self, large), memory_order_relaxed) < (int32_t)spare;
}

bool cupti_buffers_low(cupti_buffers *self) { return is_low(self, false) || is_low(self, true); }

void cupti_buffers_refill(cupti_buffers *self) {
  for (int large = 0; large <= 1; large++) {
    while (is_low(self, large)) {
      cupti_buffer *buffer = map_buffer(self, large);
      if (!buffer) break;
      push_free(self, buffer);
    }
  }
}

cupti_held cupti_buffers_held(cupti_buffers *self, uint32_t epoch, uint32_t thread) {
  const uint32_t used = atomic_load(&self->used), session = atomic_load(&self->session);
  cupti_held held = {0};
  for (uint32_t i = 0; i < used; i++) {
    cupti_buffer *buffer = &self->slots[i];
    if (atomic_load(&buffer->state) != CUPTI_BUFFER_CUPTI || atomic_load(&buffer->session) != session ||
        (int32_t)(atomic_load(&buffer->epoch) - epoch) > 0)
      continue;
    if (atomic_load(&buffer->thread) == thread)
      held.own++;
    else
      held.others++;
  }
  return held;
}
