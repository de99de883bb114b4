/* The steps of a trace that is otherwise whole: bounds on the host's timeline, and what belongs to which step. */
#ifndef CORE_TRACE_TRACE_STEPS_H
#define CORE_TRACE_TRACE_STEPS_H

#include "trace_memory.h"

/* One step: [start_ns, end_ns) of the loop's thread. */
typedef struct step_bounds {
  int64_t start_ns, end_ns;
  uint64_t number;
} step_bounds;

/* Whether device work was to follow the call. A set of memory that none followed was of no bytes: the device has no
 * record of it. */
static inline bool trace_is_launch(const pd_call *call) {
  if (call->api == PD_API_MEMSET && !call->activity_count) return false;
  return call->result == 0 && call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
}

/* The highest number that a device record has; 0: none has one. */
uint64_t trace_last_number(const pd_trace *trace);
/* A launch with a number above `last`, which is trace_last_number's, and without a device record: its work may have run
 * after the recording ended, so that nothing was lost. */
static inline bool trace_is_late(const pd_call *call, uint64_t last) {
  return trace_is_launch(call) && !call->activity_count && last && call->correlation > last;
}
/* How many of the steps' launches are late. */
uint64_t trace_late_launches(const pd_trace *trace);

/* "7 device records carry no correlation, so their launches are not known". Returns `text`. */
const char *trace_unnumbered_text(char *text, size_t room, uint64_t count);

/* Gives the trace these steps, in order and back to back, in place of those that it has. A call belongs to the step in
 * which it starts, a device record to the step of its call. Waits for the loader are taken from PD_RANGE_DATALOADER on
 * the loop's thread; the measured part of a step begins after those that come before its first launch. The window
 * reaches from the first bound to the last. */
pd_status trace_set_steps(pd_trace *trace, const step_bounds *bounds, uint64_t count);
/* Why the trace has no steps but one of all of it; copied. */
pd_status trace_set_steps_note(pd_trace *trace, const char *why);
/* How the steps were found that the program did not mark; copied. */
pd_status trace_set_steps_found(pd_trace *trace, const char *how);

#endif
