/* A trace shaped like a window of tiny_ops. Per step: operations with an inner range each, a launch and a kernel under
 * it; 40 allocations. */
#ifndef BENCH_BIG_TRACE_H
#define BENCH_BIG_TRACE_H

#include <pdhost/trace.h>

#include <stdbool.h>

enum { BIG_TRACE_OPERATIONS = 1860, BIG_TRACE_EVENTS = 4 * BIG_TRACE_OPERATIONS + 40 + 4 /* of a step */ };

typedef struct big_trace {
  pd_trace trace;
  pd_string *strings;
  pd_range *ranges;
  pd_call *calls;
  pd_device_row *rows;
  uint32_t *by_call;
  pd_memory_row *memory;
  pd_trace_step *steps;
} big_trace;

/* False on no memory; close it in any case. */
bool big_trace_open(big_trace *big, uint32_t steps);
void big_trace_close(big_trace *big);

#endif
