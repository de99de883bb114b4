/* Memory of a trace. See trace_memory.h. */
#include "trace_memory.h"
#include "recorder.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_BYTES = 2 << 20, LARGE_BYTES = 4 << 20, RETURNED_BYTES = 1 << 20 };

/* Large blocks are mapped: zeroed by the system, and in huge pages, since a page fault each 4 KiB would take longer
 * than the merge itself. */
typedef struct memory_block {
  _Alignas(max_align_t) struct memory_block *next;
  size_t mapped_bytes; /* 0: of the heap */
} memory_block;

static memory_block *block_new(size_t bytes) {
  if (bytes < LARGE_BYTES) return calloc(1, bytes);
  memory_block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return NULL;
  (void)madvise(block, bytes, MADV_HUGEPAGE); /* only a wish */
  block->mapped_bytes = bytes;
  return block;
}

void *trace_alloc(owned_trace *trace, uint64_t count, size_t bytes_each) {
  if (count > (SIZE_MAX - sizeof(memory_block)) / bytes_each) return NULL;
  memory_block *block = block_new(sizeof *block + (size_t)count * bytes_each);
  if (!block) return NULL;
  block->next = trace->blocks;
  trace->blocks = block;
  return block + 1;
}

pd_status trace_array(owned_trace *trace, pd_array *array, uint64_t count, size_t stride) {
  array->count = count;
  array->stride = stride;
  array->data = NULL;
  if (!count) return PD_OK;
  if (count > (uint64_t)UINT32_MAX - 1) return PD_NO_MEMORY;
  array->data = trace_alloc(trace, count, stride);
  if (array->data) return PD_OK;
  array->count = 0;
  return PD_NO_MEMORY;
}

static bool returns_blocks;

/* Setting it takes away malloc()'s own choice (mallopt(3), M_MMAP_THRESHOLD). */
void trace_return_large_blocks(void) {
  returns_blocks = true;
  (void)mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
}

/* What is only asked for takes no memory: the heap keeps the addresses, and takes the blocks that follow from there. */
void trace_keep_large_blocks(void) {
  enum { ONE_HEAP = 1, LONGEST_BYTES = 1 << 30, AHEAD_BYTES = 256 << 20 };
  (void)mallopt(M_ARENA_MAX, ONE_HEAP);
  (void)mallopt(M_MMAP_THRESHOLD, LONGEST_BYTES);
  (void)mallopt(M_TRIM_THRESHOLD, LONGEST_BYTES);
  void *memory = NULL;
  if (posix_memalign(&memory, HUGE_BYTES, AHEAD_BYTES)) return;
  (void)madvise(memory, AHEAD_BYTES, MADV_HUGEPAGE); /* only a wish */
  free(memory);
}

/* All blocks of the heap, which is not trimmed meanwhile. */
void trace_reuse_begin(void) {
  if (!returns_blocks) return;
  (void)mallopt(M_MMAP_MAX, 0);
  (void)mallopt(M_TRIM_THRESHOLD, -1);
}

/* As malloc() begins (mallopt(3)). */
void trace_reuse_end(void) {
  enum { MAPPED_BLOCKS = 65536, TRIM_BYTES = 128 << 10 };
  if (!returns_blocks) return;
  (void)mallopt(M_MMAP_MAX, MAPPED_BLOCKS);
  (void)mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
  (void)malloc_trim(0);
}

void *trace_scratch_alloc(uint64_t count, size_t bytes_each) {
  if (count > (SIZE_MAX - 1) / bytes_each) return NULL;
  size_t bytes = count ? (size_t)count * bytes_each : 1;
  if (bytes < LARGE_BYTES) return malloc(bytes);
  void *memory = NULL;
  if (posix_memalign(&memory, HUGE_BYTES, bytes)) return NULL;
  (void)madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

void trace_free(pd_trace *trace) {
  if (!trace) return;
  owned_trace *owned = (owned_trace *)(void *)trace;
  for (memory_block *block = owned->blocks, *next; block; block = next) {
    next = block->next;
    if (block->mapped_bytes)
      munmap(block, block->mapped_bytes);
    else
      free(block);
  }
  free(owned);
}
