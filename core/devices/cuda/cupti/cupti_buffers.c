/* The buffer pool: two free lists with counters against reuse, one list of completed buffers that is taken whole. */
#include "cupti_buffers.h"

#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_SPARE = 2 };

/* Each thread's buffers so far, so that a thread with little to say holds little. */
static _Thread_local uint32_t thread_generation, thread_taken;

static void push_free(cupti_buffers *pool, cupti_buffer *buffer) {
  _Atomic uint64_t *list = buffer->bytes == CUPTI_LARGE_BYTES ? &pool->free_large : &pool->free_small;
  uint32_t self = (uint32_t)(buffer - pool->slots) + 1;
  uint64_t head = atomic_load_explicit(list, memory_order_relaxed), next;
  atomic_store_explicit(&buffer->state, CUPTI_BUFFER_FREE, memory_order_relaxed);
  do {
    atomic_store_explicit(&buffer->next, (uint32_t)head, memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | self;
  } while (!atomic_compare_exchange_weak_explicit(list, &head, next, memory_order_release, memory_order_relaxed));
  if (buffer->bytes == CUPTI_LARGE_BYTES) atomic_fetch_add_explicit(&pool->free_large_count, 1, memory_order_relaxed);
}

static cupti_buffer *pop_free(cupti_buffers *pool, bool large) {
  _Atomic uint64_t *list = large ? &pool->free_large : &pool->free_small;
  uint64_t head = atomic_load_explicit(list, memory_order_acquire), next;
  cupti_buffer *buffer;
  do {
    if (!(uint32_t)head) return NULL;
    buffer = &pool->slots[(uint32_t)head - 1];
    /* Another thread may have taken it since; then the counter has moved and the exchange fails. */
    next = ((head >> 32) + 1) << 32 | atomic_load_explicit(&buffer->next, memory_order_relaxed);
  } while (!atomic_compare_exchange_weak_explicit(list, &head, next, memory_order_acquire, memory_order_acquire));
  if (large) atomic_fetch_sub_explicit(&pool->free_large_count, 1, memory_order_relaxed);
  return buffer;
}

/* Maps one more buffer, or returns NULL at the limit. */
static cupti_buffer *map_buffer(cupti_buffers *pool, bool large) {
  size_t bytes = large ? CUPTI_LARGE_BYTES : CUPTI_SMALL_BYTES;
  if (atomic_fetch_add(&pool->bytes, bytes) + bytes > pool->max_bytes) {
    atomic_fetch_sub(&pool->bytes, bytes);
    return NULL;
  }
  uint32_t slot = atomic_load(&pool->used);
  do {
    if (slot == pool->slot_count) {
      atomic_fetch_sub(&pool->bytes, bytes);
      return NULL;
    }
  } while (!atomic_compare_exchange_weak(&pool->used, &slot, slot + 1));
  cupti_buffer *buffer = &pool->slots[slot];
  uint8_t *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    /* The slot stays empty: it cannot be given back without a lock, and memory is out anyway. */
    atomic_fetch_sub(&pool->bytes, bytes);
    return NULL;
  }
  if (large) madvise(data, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes; at += 4096) ((volatile uint8_t *)data)[at] = 0;
  buffer->bytes = bytes;
  atomic_store_explicit(&buffer->data, data, memory_order_release);
  return buffer;
}

pd_status cupti_buffers_open(cupti_buffers *pool, uint64_t max_bytes, uint32_t small, uint32_t large) {
  static _Atomic uint32_t generations;
  memset(pool, 0, sizeof *pool);
  pool->generation = atomic_fetch_add(&generations, 1) + 1;
  pool->max_bytes = max_bytes;
  pool->slot_count = max_bytes / CUPTI_SMALL_BYTES > 16384 ? 16384 : (uint32_t)(max_bytes / CUPTI_SMALL_BYTES);
  pool->slots = calloc(pool->slot_count + 1, sizeof *pool->slots);
  if (!pool->slots) return PD_NO_MEMORY;
  for (uint32_t i = 0; i < small + large; i++) {
    cupti_buffer *buffer = map_buffer(pool, i >= small);
    if (buffer) push_free(pool, buffer);
  }
  return PD_OK;
}

bool cupti_buffers_close(cupti_buffers *pool) {
  uint32_t used = atomic_load(&pool->used);
  bool all = true;
  for (uint32_t i = 0; i < used; i++) {
    cupti_buffer *buffer = &pool->slots[i];
    uint8_t *data = atomic_load(&buffer->data);
    if (!data) continue;
    if (atomic_load(&buffer->state) == CUPTI_BUFFER_CUPTI) {
      all = false;
      continue;
    }
    munmap(data, buffer->bytes);
    atomic_store(&buffer->data, NULL);
  }
  free(pool->slots);
  pool->slots = NULL;
  return all;
}

uint8_t *cupti_buffers_take(cupti_buffers *pool, size_t *bytes) {
  if (thread_generation != pool->generation) {
    thread_generation = pool->generation;
    thread_taken = 0;
  }
  bool large = thread_taken > 0;
  cupti_buffer *buffer = pop_free(pool, large);
  if (!buffer) buffer = map_buffer(pool, large);
  if (!buffer) buffer = pop_free(pool, !large);
  if (!buffer) {
    atomic_fetch_add_explicit(&pool->refused, 1, memory_order_relaxed);
    *bytes = 0;
    return NULL;
  }
  thread_taken++;
  *bytes = buffer->bytes;
  atomic_store_explicit(&buffer->session, atomic_load_explicit(&pool->session, memory_order_relaxed),
                        memory_order_relaxed);
  atomic_store_explicit(&buffer->epoch, atomic_load_explicit(&pool->epoch, memory_order_relaxed), memory_order_relaxed);
  atomic_store_explicit(&buffer->thread, (uint32_t)gettid(), memory_order_relaxed);
  atomic_store_explicit(&buffer->state, CUPTI_BUFFER_CUPTI, memory_order_release);
  return atomic_load_explicit(&buffer->data, memory_order_relaxed);
}

static cupti_buffer *find(cupti_buffers *pool, const uint8_t *data) {
  uint32_t used = atomic_load_explicit(&pool->used, memory_order_acquire);
  for (uint32_t i = 0; i < used; i++)
    if (atomic_load_explicit(&pool->slots[i].data, memory_order_acquire) == data) return &pool->slots[i];
  return NULL;
}

bool cupti_buffers_complete(cupti_buffers *pool, uint8_t *data, size_t valid_bytes) {
  cupti_buffer *buffer = data ? find(pool, data) : NULL;
  uint32_t owner = CUPTI_BUFFER_CUPTI;
  if (!buffer || !atomic_compare_exchange_strong(&buffer->state, &owner, CUPTI_BUFFER_QUEUED)) return false;
  uint32_t self = (uint32_t)(buffer - pool->slots) + 1;
  uint32_t head = atomic_load_explicit(&pool->queue, memory_order_relaxed);
  buffer->valid_bytes = valid_bytes > buffer->bytes ? buffer->bytes : valid_bytes;
  do atomic_store_explicit(&buffer->next, head, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&pool->queue, &head, self, memory_order_release, memory_order_relaxed));
  return true;
}

cupti_buffer *cupti_buffers_pull(cupti_buffers *pool) {
  uint32_t at = atomic_exchange_explicit(&pool->queue, 0, memory_order_acquire), reversed = 0;
  while (at) { /* newest first as taken; the decoder wants the oldest first */
    cupti_buffer *buffer = &pool->slots[at - 1];
    uint32_t next = atomic_load_explicit(&buffer->next, memory_order_relaxed);
    atomic_store_explicit(&buffer->state, CUPTI_BUFFER_DECODING, memory_order_relaxed);
    atomic_store_explicit(&buffer->next, reversed, memory_order_relaxed);
    reversed = at;
    at = next;
  }
  return reversed ? &pool->slots[reversed - 1] : NULL;
}

cupti_buffer *cupti_buffers_following(cupti_buffers *pool, const cupti_buffer *buffer) {
  uint32_t next = atomic_load_explicit(&buffer->next, memory_order_relaxed);
  return next ? &pool->slots[next - 1] : NULL;
}

void cupti_buffers_release(cupti_buffers *pool, cupti_buffer *buffer) {
  /* All of it: CUPTI may have written behind the valid part, and relies on zeroes. */
  memset(atomic_load_explicit(&buffer->data, memory_order_relaxed), 0, buffer->bytes);
  push_free(pool, buffer);
}

bool cupti_buffers_low(cupti_buffers *pool) {
  return atomic_load_explicit(&pool->free_large_count, memory_order_relaxed) < LARGE_SPARE;
}

void cupti_buffers_refill(cupti_buffers *pool) {
  while (cupti_buffers_low(pool)) {
    cupti_buffer *buffer = map_buffer(pool, true);
    if (!buffer) return;
    push_free(pool, buffer);
  }
}

cupti_held cupti_buffers_held(cupti_buffers *pool, uint32_t epoch, uint32_t thread) {
  const uint32_t used = atomic_load(&pool->used), session = atomic_load(&pool->session);
  cupti_held held = {0};
  for (uint32_t i = 0; i < used; i++) {
    cupti_buffer *buffer = &pool->slots[i];
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
