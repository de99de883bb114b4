/* Call stacks. See stacks.h. */
#include "stacks.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_FRAMES = 3 /* stack_capture, save_stack, record_begin */ };

void stack_capture(raw_stack *out) {
  void *frames[RAW_STACK_DEPTH + OWN_FRAMES];
  int found = backtrace(frames, RAW_STACK_DEPTH + OWN_FRAMES);
  out->count = found > OWN_FRAMES ? (uint64_t)(found - OWN_FRAMES) : 0;
  memcpy(out->frames, frames + OWN_FRAMES, out->count * sizeof *frames);
}

pd_status stacks_resolve(merging *merge) {
  pd_trace *trace = &merge->trace->trace;
  for (uint64_t i = 0; i < trace->ranges.count; i++) merge->ranges[i].stack = PD_NONE;
  return trace_array(merge->trace, &trace->stacks, 0, sizeof(pd_stack));
}
