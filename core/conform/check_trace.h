/* Traces for the conformance checks of sinks, made by the recorder as a run makes them. */
#ifndef CORE_CONFORM_CHECK_TRACE_H
#define CORE_CONFORM_CHECK_TRACE_H

#include "trace/recorder.h"

#include <pdhost/sink.h>

typedef enum check_trace_kind {
  CHECK_TRACE_EMPTY,  /* one step and nothing in it */
  CHECK_TRACE_PLAIN,  /* ranges, calls, kernels, copies, memory, counters */
  CHECK_TRACE_LOSSES, /* the same, and every kind of loss */
  CHECK_TRACE_NAMES   /* quotes, newlines, control characters, UTF-8 and its breakage, 10 kB */
} check_trace_kind;

const pd_device_props *check_device_props(void);
const pd_run *check_run(void);
const pd_summary *check_summary(void);
const pd_step_stats *check_step_stats(void);

/* Window `window` of that kind; the caller frees it by trace_free. */
pd_status check_trace_make(recorder *from, check_trace_kind kind, uint32_t window, pd_trace **out);

#endif
