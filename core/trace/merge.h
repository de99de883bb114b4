/*
 * Merging one window: from what the threads recorded to the sorted, nested, correlated pd_trace. [loop thread]
 *
 * Times inside are on the trace's axis, relative to its base. The result depends on what was recorded, never on the
 * order in which it arrived.
 */
#ifndef CORE_TRACE_MERGE_H
#define CORE_TRACE_MERGE_H

#include "raw_window.h"
#include "trace_memory.h"

/* A row of the trace's threads, and where its records are. */
typedef struct merge_thread {
  uint32_t tid;
  uint32_t input; /* index into window_input.threads, or PD_NONE: it launched, but recorded nothing */
  uint64_t range_first, range_count; /* rows of the trace */
} merge_thread;

/* A time that is cut out of the window (recorder_step), and what is cut out by its end. Not moved themselves. */
typedef struct merge_pause {
  int64_t start_ns, end_ns;
  int64_t sum_ns;
} merge_pause;

typedef struct merging {
  window_input *input;
  owned_trace *trace;
  int64_t base_ns, end_ns; /* end: without the pauses */
  merge_pause *pauses;     /* in order */
  uint64_t pause_count;
  pd_range *ranges;
  pd_trace_step *steps;
  merge_thread *threads; /* as the trace's: the loop's, then by tid */
  uint64_t thread_count;
  uint64_t losses[PD_LOSS_COUNT];
  loss_marks marks; /* of them, in the trace's nanoseconds */
} merging;

/* The device's side of correlation is given a fate per call and record; see raw_fate. */
pd_status merge_window(window_input *input, raw_fate *call_fates, raw_fate *device_fates, pd_trace **out);

/* For losses whose place is not known. */
#define MERGE_NO_TIME INT64_MIN
/* Counts one loss of the merge's own, at a time of the trace; `tid` as in loss_mark. */
void merge_lost(merging *self, pd_loss loss, uint32_t tid, int64_t at_ns);

int64_t merge_ticks_ns(const merging *self, uint64_t ticks);
int64_t merge_realtime_ns(const merging *self, int64_t realtime_ns);
/* Finds the pauses of the window; before any time is asked for. */
pd_status merge_find_pauses(merging *self);
/* Whether all of [start, end] lies in one pause. */
bool merge_is_paused(const merging *self, uint64_t start_ticks, uint64_t end_ticks);
bool merge_is_paused_at(const merging *self, uint32_t clock, int64_t stamp);
/* Index into the trace's threads, or PD_NONE. */
uint32_t merge_find_thread(const merging *self, uint32_t tid);

/* The trace's own copy of the string table: it outlives the table. */
pd_status merge_add_strings(owned_trace *trace, string_table *strings);

/* The range, of an operation or failing that of a user, that calls within each range belong to; PD_NONE: none. Free it;
 * NULL on no memory. */
uint32_t *merge_range_holders(const pd_range *ranges, uint64_t count);

/* Steps by time, for times that do not decrease. */
typedef struct step_cursor {
  const pd_trace_step *steps;
  uint64_t count, next;
} step_cursor;
uint32_t merge_step_at(step_cursor *self, int64_t time_ns);

/* The innermost range that holds a time ([start, end)) on each thread, for times that do not decrease per thread. */
typedef struct range_sweep range_sweep;
pd_status merge_sweep_open(const merging *self, range_sweep **out);
void merge_sweep_close(range_sweep *self);
uint32_t merge_sweep_at(range_sweep *self, uint32_t thread, int64_t time_ns);

#endif
