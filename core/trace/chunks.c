/* Chunk lists and their pool. See chunks.h. */
#include "chunks.h"

#include <stdlib.h>
#include <string.h>

pd_status chunk_pool_open(chunk_pool *self, void *memory, uint64_t bytes) {
  memset(self, 0, sizeof *self);
  self->next = calloc(bytes / CHUNK_BYTES, sizeof *self->next);
  if (!self->next) return PD_NO_MEMORY;
  self->base = memory;
  self->total = bytes / CHUNK_BYTES;
  return PD_OK;
}

void chunk_pool_close(chunk_pool *self) {
  free(self->next);
  memset(self, 0, sizeof *self);
}

static chunk *pool_get(chunk_pool *self) {
  uint_fast64_t top = atomic_load_explicit(&self->free, memory_order_acquire);
  uint64_t index = 0;
  while ((uint32_t)top) {
    index = (uint32_t)top - 1;
    uint64_t below = atomic_load_explicit(&self->next[index], memory_order_relaxed);
    uint_fast64_t changed = ((top >> 32) + 1) << 32 | below;
    if (atomic_compare_exchange_weak_explicit(&self->free, &top, changed, memory_order_acquire, memory_order_acquire))
      return (chunk *)(void *)(self->base + index * CHUNK_BYTES);
  }
  index = atomic_load_explicit(&self->used, memory_order_relaxed);
  while (index < self->total)
    if (atomic_compare_exchange_weak_explicit(&self->used, &index, index + 1, memory_order_relaxed,
                                              memory_order_relaxed))
      return (chunk *)(void *)(self->base + index * CHUNK_BYTES);
  return NULL;
}

static void pool_put(chunk_pool *self, chunk *gone) {
  uint64_t index = (uint64_t)((unsigned char *)gone - self->base) / CHUNK_BYTES;
  atomic_fetch_sub_explicit(&self->lent, 1, memory_order_relaxed);
  uint_fast64_t top = atomic_load_explicit(&self->free, memory_order_relaxed), changed;
  do {
    atomic_store_explicit(&self->next[index], (uint32_t)top, memory_order_relaxed);
    changed = ((top >> 32) + 1) << 32 | (index + 1);
  } while (
      !atomic_compare_exchange_weak_explicit(&self->free, &top, changed, memory_order_release, memory_order_relaxed));
}

void chunk_list_init(chunk_list *self, chunk_pool *pool, uint32_t record_bytes) {
  memset(self, 0, sizeof *self);
  self->pool = pool;
  self->record_bytes = record_bytes;
}

bool chunk_list_grow(chunk_list *self) {
  chunk *fresh = pool_get(self->pool);
  if (!fresh) return false;
  atomic_fetch_add_explicit(&self->pool->lent, 1, memory_order_relaxed);
  atomic_store_explicit(&fresh->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&fresh->count, 0, memory_order_relaxed);
  if (self->tail)
    atomic_store_explicit(&self->tail->next, fresh, memory_order_release);
  else
    atomic_store_explicit(&self->first, fresh, memory_order_release);
  self->tail = fresh;
  self->used = 0;
  self->capacity = (CHUNK_BYTES - CHUNK_HEAD) / self->record_bytes;
  return true;
}

uint64_t chunk_list_count(const chunk_list *self) {
  uint64_t count = 0;
  for (chunk *at = atomic_load_explicit(&self->first, memory_order_acquire); at;
       at = atomic_load_explicit(&at->next, memory_order_acquire))
    count += atomic_load_explicit(&at->count, memory_order_acquire);
  return count - self->read;
}

void chunk_list_copy(const chunk_list *self, void *out, uint64_t count) {
  chunk *at = atomic_load_explicit(&self->first, memory_order_acquire);
  unsigned char *to = out;
  for (uint32_t skip = self->read; at && count; skip = 0) {
    uint64_t part = atomic_load_explicit(&at->count, memory_order_acquire) - skip;
    if (part > count) part = count;
    size_t bytes = (size_t)part * self->record_bytes;
    memcpy(to, (unsigned char *)at + CHUNK_HEAD + (size_t)skip * self->record_bytes, bytes);
    to += bytes;
    count -= part;
    at = atomic_load_explicit(&at->next, memory_order_acquire);
  }
}

void chunk_list_drop(chunk_list *self, uint64_t count) {
  chunk *at = atomic_load_explicit(&self->first, memory_order_acquire);
  self->taken += count;
  while (at) {
    chunk *next = atomic_load_explicit(&at->next, memory_order_acquire);
    uint32_t published = atomic_load_explicit(&at->count, memory_order_acquire);
    uint64_t part = published - self->read;
    if (part > count) part = count;
    self->read += (uint32_t)part;
    count -= part;
    /* The writer has left a chunk that has a next one; only then may it go back. */
    if (!next || self->read < published) return;
    atomic_store_explicit(&self->first, next, memory_order_relaxed);
    self->read = 0;
    pool_put(self->pool, at);
    at = next;
  }
}

void chunk_list_release(chunk_list *self) {
  chunk *at = atomic_load_explicit(&self->first, memory_order_acquire);
  while (at) {
    chunk *next = atomic_load_explicit(&at->next, memory_order_acquire);
    pool_put(self->pool, at);
    at = next;
  }
  chunk_list_init(self, self->pool, self->record_bytes);
}
