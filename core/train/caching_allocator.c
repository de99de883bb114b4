/* See caching_allocator.h. */
#include "caching_allocator.h"

#include <pdhost/array.h>

#include <stdlib.h>

enum { GRAIN = 512 }; /* blocks are multiples of it, as torch's */

typedef struct block {
  void *data;
  uint64_t bytes;
  bool used;
} block;

struct caching_allocator {
  block *blocks;
  uint64_t count, capacity, idle_bytes;
};

pd_status caching_allocator_open(const train_context *c, caching_allocator **out) {
  *out = calloc(1, sizeof **out);
  return *out ? PD_OK : c->host->fail(c->host, PD_NO_MEMORY, "training kit: no memory for the allocator");
}

static void give_back(const train_context *c, caching_allocator *cache, bool used_too) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < cache->count; i++) {
    block *at = &cache->blocks[i];
    if (at->used && !used_too)
      cache->blocks[kept++] = *at;
    else
      (void)c->memory->free(c->device, c->stream, PD_ALLOCATOR_POOL, at->bytes, at->data);
  }
  cache->count = kept;
  cache->idle_bytes = 0;
}

void caching_allocator_close(const train_context *c, caching_allocator *cache) {
  if (!cache) return;
  give_back(c, cache, true);
  free(cache->blocks);
  free(cache);
}

static void report(const train_context *c, const caching_allocator *cache, const block *at, int64_t bytes,
                   uint64_t start_ticks) {
  if (!pd_record_on(c->record)) return;
  uint64_t allocated = 0, reserved = 0, peak = 0;
  if (c->memory->usage(c->device, &allocated, &reserved, &peak) != PD_OK) return;
  c->record->memory(c->record, &(pd_memory_event){.address = (uint64_t)(uintptr_t)at->data,
                                                  .bytes = bytes,
                                                  .total_allocated = allocated - cache->idle_bytes,
                                                  .total_reserved = reserved,
                                                  .duration_ticks = c->record->ticks(c->record) - start_ticks,
                                                  .device_type = 1,
                                                  .device = c->device_index,
                                                  .allocator = PD_ALLOCATOR_CACHED});
}

static uint64_t ticks(const train_context *c) { return pd_record_on(c->record) ? c->record->ticks(c->record) : 0; }

/* The smallest idle block that fits and wastes less than a quarter. */
static block *find(caching_allocator *self, uint64_t bytes) {
  block *best = NULL;
  for (uint64_t i = 0; i < self->count; i++) {
    block *at = &self->blocks[i];
    if (!at->used && at->bytes >= bytes && at->bytes - bytes <= at->bytes / 4 && (!best || at->bytes < best->bytes))
      best = at;
  }
  return best;
}

static pd_status grow(const train_context *c, caching_allocator *cache) {
  if (PD_ARRAY_FIT(cache->blocks, cache->capacity, cache->count + 1)) return PD_OK;
  return c->host->fail(c->host, PD_NO_MEMORY, "training kit: no memory for the allocator");
}

pd_status caching_allocator_alloc(const train_context *c, caching_allocator *cache, uint64_t bytes, void **out) {
  const uint64_t start = ticks(c);
  *out = NULL;
  if (!bytes) return PD_OK;
  const uint64_t rounded = (bytes + GRAIN - 1) / GRAIN * GRAIN;
  block *at = find(cache, rounded);
  if (at) {
    at->used = true;
    cache->idle_bytes -= at->bytes;
    report(c, cache, at, (int64_t)at->bytes, start);
    *out = at->data;
    return PD_OK;
  }
  pd_status status = grow(c, cache);
  if (status != PD_OK) return status;
  void *data = NULL;
  status = c->memory->alloc(c->device, c->stream, PD_ALLOCATOR_POOL, rounded, &data);
  if (status == PD_NO_MEMORY && cache->idle_bytes) {
    give_back(c, cache, false);
    status = c->memory->alloc(c->device, c->stream, PD_ALLOCATOR_POOL, rounded, &data);
  }
  if (status != PD_OK) return status;
  cache->blocks[cache->count++] = (block){data, rounded, true};
  *out = data;
  return PD_OK;
}

pd_status caching_allocator_free(const train_context *c, caching_allocator *cache, void *data) {
  const uint64_t start = ticks(c);
  if (!data) return PD_OK;
  for (uint64_t i = 0; i < cache->count; i++) {
    block *at = &cache->blocks[i];
    if (at->data != data || !at->used) continue;
    at->used = false;
    cache->idle_bytes += at->bytes;
    report(c, cache, at, -(int64_t)at->bytes, start);
    return PD_OK;
  }
  return c->host->fail(c->host, PD_INVALID, "tensor_free: %p is not a tensor of the caching allocator", data);
}
