/* The metrics of memory: a part of metrics_map.h. */
#ifndef CORE_TABLES_MEMORY_METRICS_MAP_H
#define CORE_TABLES_MEMORY_METRICS_MAP_H

#define MEMORY_METRIC_MAP(X)                                                                                           \
  X(memory_type, "Type", "Type", TEXT, 0,                                                                              \
    "which memory: device, pinned host, or in the trace of another program host", NULL, PADDLE)                        \
  X(allocation_count, "Allocs", "Allocs", COUNT, 0, "allocations directly in the row's ranges", NULL, PADDLE)          \
  X(free_count, "Frees", "Frees", COUNT, 0, "frees directly in the row's ranges", NULL, PADDLE)                        \
  X(allocation_size, "Alloc Size", "Alloc Size", BYTES, 0, "bytes allocated", NULL, PADDLE)                            \
  X(free_size, "Free Size", "Free Size", BYTES, 0, "bytes freed", NULL, PADDLE)                                        \
  X(increased_size, "Increased", "Increased", BYTES, 0, "bytes allocated minus freed", "allocation_size - free_size",  \
    PADDLE)                                                                                                            \
  X(held_bytes, "Held", "Held", BYTES, 0, "bytes allocated here in the window and alive at the peak", NULL, "pdhost")  \
  X(held_percent, "Held (%)", "Held (%)", PERCENT, 0, "share of all memory allocated at the peak",                     \
    "100 * held_bytes / bytes allocated at the peak", "pdhost")                                                        \
  X(held_blocks, "Blocks", "Blocks", COUNT, 0, "blocks among them", NULL, "pdhost")                                    \
  X(block_size, "Size", "Size", BYTES, 0, "bytes of the block", NULL, TB_PLUGIN)                                       \
  X(allocated_at, "Allocated", "Allocated", NS, 0, "when it was allocated, since the first step of the window began",  \
    NULL, TB_PLUGIN)                                                                                                   \
  X(released_at, "Released", "Released", NS, 0, "when it was freed, since the first step of the window began", NULL,   \
    TB_PLUGIN)                                                                                                         \
  X(lifetime, "Life", "Life", NS, 0, "from its allocation to its release", "released_at - allocated_at", TB_PLUGIN)    \
  X(peak_allocated, "Peak alloc.", "Peak alloc.", BYTES, 0, "most bytes allocated at one time", NULL, PADDLE)          \
  X(peak_reserved, "Peak reserved", "Peak reserved", BYTES, WIDE, "most bytes reserved from the system at one time",   \
    NULL, PADDLE)                                                                                                      \
  X(allocations_per_step, "Allocs/step", "Allocs/step", NONE, 0, "allocations per step", "allocations / steps",        \
    "pdhost")                                                                                                          \
  X(bytes_per_step, "Bytes/step", "Bytes/step", BYTES, 0, "bytes allocated per step, rounded down", "bytes / steps",   \
    "pdhost")                                                                                                          \
  X(median_lifetime, "Median life", "Median life", NS, 0,                                                              \
    "median time from allocation to free, of blocks freed in the window", NULL, "pdhost")                              \
  X(allocator_time, "Allocator", "Allocator", NS, 0, "time spent in the allocator", "sum of the events' durations",    \
    "pdhost")                                                                                                          \
  X(fragmentation, "Fragmented", "Fragmented", BYTES, WIDE, "reserved and not allocated when the peak was reached",    \
    "reserved - allocated at the peak", "pdhost")

#endif
