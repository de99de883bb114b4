/* Chunk lists and their pool. See chunks.h. */
#include "chunks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { POOL_TOUCHED_BYTES = 32 << 20 };

pd_status chunk_pool_open(chunk_pool *pool, uint64_t max_bytes) {
  uint64_t total = max_bytes / CHUNK_BYTES;
  memset(pool, 0, sizeof *pool);
  if (!total) total = 1;
  if (total >= UINT32_MAX) total = UINT32_MAX - 1;
  size_t bytes = (size_t)total * CHUNK_BYTES;
  void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return PD_NO_MEMORY;
  pool->next = calloc(total, sizeof *pool->next);
  if (!pool->next) {
    munmap(base, bytes);
    return PD_NO_MEMORY;
  }
  (void)madvise(base, bytes < POOL_TOUCHED_BYTES ? bytes : POOL_TOUCHED_BYTES, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes && at < POOL_TOUCHED_BYTES; at += 4096) ((volatile unsigned char *)base)[at] = 0;
  pool->base = base;
  pool->total = total;
  return PD_OK;
}

void chunk_pool_close(chunk_pool *pool) {
  if (pool->base) munmap(pool->base, (size_t)pool->total * CHUNK_BYTES);
  free(pool->next);
  memset(pool, 0, sizeof *pool);
}

static chunk *pool_get(chunk_pool *pool) {
  uint_fast64_t top = atomic_load_explicit(&pool->free, memory_order_acquire);
  uint64_t index = 0;
  while ((uint32_t)top) {
    index = (uint32_t)top - 1;
    uint64_t below = atomic_load_explicit(&pool->next[index], memory_order_relaxed);
    uint_fast64_t changed = ((top >> 32) + 1) << 32 | below;
    if (atomic_compare_exchange_weak_explicit(&pool->free, &top, changed, memory_order_acquire, memory_order_acquire))
      return (chunk *)(void *)(pool->base + index * CHUNK_BYTES);
  }
  index = atomic_load_explicit(&pool->used, memory_order_relaxed);
  while (index < pool->total)
    if (atomic_compare_exchange_weak_explicit(&pool->used, &index, index + 1, memory_order_relaxed,
                                              memory_order_relaxed))
      return (chunk *)(void *)(pool->base + index * CHUNK_BYTES);
  return NULL;
}

static void pool_put(chunk_pool *pool, chunk *gone) {
  uint64_t index = (uint64_t)((unsigned char *)gone - pool->base) / CHUNK_BYTES;
  uint_fast64_t top = atomic_load_explicit(&pool->free, memory_order_relaxed), changed;
  do {
    atomic_store_explicit(&pool->next[index], (uint32_t)top, memory_order_relaxed);
    changed = ((top >> 32) + 1) << 32 | (index + 1);
  } while (
      !atomic_compare_exchange_weak_explicit(&pool->free, &top, changed, memory_order_release, memory_order_relaxed));
}

void chunk_list_init(chunk_list *list, chunk_pool *pool, uint32_t record_bytes) {
  memset(list, 0, sizeof *list);
  list->pool = pool;
  list->record_bytes = record_bytes;
}

bool chunk_list_grow(chunk_list *list) {
  chunk *fresh = pool_get(list->pool);
  if (!fresh) return false;
  atomic_store_explicit(&fresh->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&fresh->count, 0, memory_order_relaxed);
  if (list->tail)
    atomic_store_explicit(&list->tail->next, fresh, memory_order_release);
  else
    atomic_store_explicit(&list->first, fresh, memory_order_release);
  list->tail = fresh;
  list->used = 0;
  list->capacity = (CHUNK_BYTES - CHUNK_HEAD) / list->record_bytes;
  return true;
}

uint64_t chunk_list_count(const chunk_list *list) {
  uint64_t count = 0;
  for (chunk *at = atomic_load_explicit(&list->first, memory_order_acquire); at;
       at = atomic_load_explicit(&at->next, memory_order_acquire))
    count += atomic_load_explicit(&at->count, memory_order_acquire);
  return count - list->read;
}

void chunk_list_copy(const chunk_list *list, void *out, uint64_t count) {
  chunk *at = atomic_load_explicit(&list->first, memory_order_acquire);
  unsigned char *to = out;
  for (uint32_t skip = list->read; at && count; skip = 0) {
    uint64_t part = atomic_load_explicit(&at->count, memory_order_acquire) - skip;
    if (part > count) part = count;
    size_t bytes = (size_t)part * list->record_bytes;
    memcpy(to, (unsigned char *)at + CHUNK_HEAD + (size_t)skip * list->record_bytes, bytes);
    to += bytes;
    count -= part;
    at = atomic_load_explicit(&at->next, memory_order_acquire);
  }
}

void chunk_list_drop(chunk_list *list, uint64_t count) {
  chunk *at = atomic_load_explicit(&list->first, memory_order_acquire);
  list->taken += count;
  while (at) {
    chunk *next = atomic_load_explicit(&at->next, memory_order_acquire);
    uint32_t published = atomic_load_explicit(&at->count, memory_order_acquire);
    uint64_t part = published - list->read;
    if (part > count) part = count;
    list->read += (uint32_t)part;
    count -= part;
    /* The writer has left a chunk that has a next one; only then may it go back. */
    if (!next || list->read < published) return;
    atomic_store_explicit(&list->first, next, memory_order_relaxed);
    list->read = 0;
    pool_put(list->pool, at);
    at = next;
  }
}

void chunk_list_release(chunk_list *list) {
  chunk *at = atomic_load_explicit(&list->first, memory_order_acquire);
  while (at) {
    chunk *next = atomic_load_explicit(&at->next, memory_order_acquire);
    pool_put(list->pool, at);
    at = next;
  }
  chunk_list_init(list, list->pool, list->record_bytes);
}
