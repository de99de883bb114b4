/* Memory of a trace: a few blocks, all freed by trace_free; and scratch memory of the merge. [loop thread] */
#ifndef CORE_TRACE_TRACE_MEMORY_H
#define CORE_TRACE_TRACE_MEMORY_H

#include <pdhost/trace.h>

/* The trace that the sinks read, and the blocks behind its arrays. */
typedef struct owned_trace {
  pd_trace trace; /* first: trace_free gets a pointer to it */
  struct memory_block *blocks;
} owned_trace;

/* Memory that lives as long as the trace, aligned for everything; zeroed. NULL on no memory. */
void *trace_alloc(owned_trace *trace, uint64_t count, size_t bytes_each);
/* The same as a pd_array of `count` rows. */
pd_status trace_array(owned_trace *trace, pd_array *array, uint64_t count, size_t stride);

/* malloc that never returns NULL for nothing and checks the product. */
void *trace_scratch_alloc(uint64_t count, size_t bytes_each);
/* From now on what malloc() gave out in large blocks is the system's again when it is freed. By itself malloc() keeps
 * blocks of the size of those that were freed before, so that a big trace holds a third more than it uses. A run does
 * without: blocks that are made in each step would be mapped in each. */
void trace_return_large_blocks(void);
/* The opposite, for a process whose windows are made, read and gone before anybody looks at its memory: from now on all
 * threads share one heap, which gives nothing back and lies in huge pages as far as the system gives them. With pages
 * of 4 KiB, the first write to each took as long as the tables of the window. */
void trace_keep_large_blocks(void);
/* Between the two, where blocks are returned: what is freed is used again, and only trace_reuse_end gives the rest
 * back. The system clears each block that it gives, which takes longer than most of what is done with a block. */
void trace_reuse_begin(void);
void trace_reuse_end(void);

#endif
