/*
 * PD_ALLOCATOR_CACHED: freed blocks are kept and handed out again without asking the device, as torch does. All work
 * is on one stream, so a block may be reused at once. [loop thread]
 *
 * A block taken from the cache or put back is a memory event of this allocator; one that comes from the device is an
 * event of the device's. So every allocation is counted once.
 */
#ifndef CORE_TRAIN_CACHING_ALLOCATOR_H
#define CORE_TRAIN_CACHING_ALLOCATOR_H

#include "context.h"

typedef struct caching_allocator caching_allocator;

pd_status caching_allocator_open(const train_context *c, caching_allocator **out);
/* Blocks still in use are given back too. */
void caching_allocator_close(const train_context *c, caching_allocator *cache);

pd_status caching_allocator_alloc(const train_context *c, caching_allocator *cache, uint64_t bytes, void **out);
pd_status caching_allocator_free(const train_context *c, caching_allocator *cache, void *data);

#endif
