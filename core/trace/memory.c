/* Memory of a trace. See memory.h. */
#include "memory.h"
#include "recorder.h"

#include <stdlib.h>

typedef struct memory_block {
  _Alignas(max_align_t) struct memory_block *next;
} memory_block;

void *trace_alloc(owned_trace *trace, uint64_t count, size_t bytes_each) {
  if (count > (SIZE_MAX - sizeof(memory_block)) / bytes_each) return NULL;
  memory_block *block = calloc(1, sizeof *block + (size_t)count * bytes_each);
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

void *scratch_alloc(uint64_t count, size_t bytes_each) {
  if (count > (SIZE_MAX - 1) / bytes_each) return NULL;
  return malloc(count ? (size_t)count * bytes_each : 1);
}

void trace_free(pd_trace *trace) {
  if (!trace) return;
  owned_trace *owned = (owned_trace *)(void *)trace;
  for (memory_block *block = owned->blocks, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  free(owned);
}
