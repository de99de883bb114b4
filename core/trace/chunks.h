/*
 * Chunk lists: records of one size, written by one thread, read by the loop thread at the same time, without a lock.
 *
 * The writer fills a record and publishes it by a release store of the chunk's count; the reader takes what is
 * published. Chunks come from a bounded pool that all lists share; an empty pool means that reserve returns NULL.
 */
#ifndef CORE_TRACE_CHUNKS_H
#define CORE_TRACE_CHUNKS_H

#include <pdhost/plugin.h>

#include <stdatomic.h>

enum { CHUNK_BYTES = 65536, CHUNK_HEAD = 64 };

typedef struct chunk {
  _Atomic(struct chunk *) next;
  atomic_uint count; /* published */
} chunk;

typedef struct chunk_pool {
  unsigned char *base;
  atomic_uint *next;         /* of a free chunk: the next one, plus 1 */
  atomic_uint_fast64_t free; /* top of the free stack plus 1, below a tag that counts changes */
  atomic_uint_fast64_t used; /* chunks ever handed out: the rest of the memory is untouched */
  atomic_uint_fast64_t lent; /* chunks that lists have now */
  uint64_t total;
} chunk_pool;

typedef struct chunk_list {
  chunk_pool *pool;
  /* the writer's */
  chunk *tail;
  uint32_t used, capacity;
  uint32_t record_bytes;
  /* the reader's */
  uint32_t read;  /* records of the first chunk that are taken */
  uint64_t taken; /* records taken ever: the running index of the first one left */
  _Atomic(chunk *) first;
} chunk_list;

/* Chunks in `memory`, whole ones, which is the caller's and aligned to 64 bytes. */
pd_status chunk_pool_open(chunk_pool *self, void *memory, uint64_t bytes);
void chunk_pool_close(chunk_pool *self);

void chunk_list_init(chunk_list *self, chunk_pool *pool, uint32_t record_bytes);
bool chunk_list_grow(chunk_list *self);

/* The next record's place, or NULL: the pool is empty. Nothing is visible before publish. [writer] */
static inline void *chunk_list_reserve(chunk_list *self, uint32_t record_bytes) {
  if (__builtin_expect(self->used == self->capacity, 0) && !chunk_list_grow(self)) return NULL;
  return (unsigned char *)self->tail + CHUNK_HEAD + (size_t)self->used * record_bytes;
}
static inline void chunk_list_publish(chunk_list *self) {
  atomic_store_explicit(&self->tail->count, ++self->used, memory_order_release);
}

/* Records published and not taken yet. [reader] */
uint64_t chunk_list_count(const chunk_list *self);
/* Copies the oldest `count` of them; they stay. [reader] */
void chunk_list_copy(const chunk_list *self, void *out, uint64_t count);
/* Takes the oldest `count` away. [reader] */
void chunk_list_drop(chunk_list *self, uint64_t count);
/* Gives everything back to the pool. Neither reader nor writer may be inside. */
void chunk_list_release(chunk_list *self);

#endif
