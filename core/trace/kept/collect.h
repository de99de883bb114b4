/*
 * What the threads of a recorder hold, into arrays of a window. Copying takes nothing away; dropping does. The recorder
 * does both while they go on recording; a salvage copies when they are dead.
 */
#ifndef CORE_TRACE_KEPT_COLLECT_H
#define CORE_TRACE_KEPT_COLLECT_H

#include "trace/open_ranges.h"
#include "trace/threads.h"

/* How much of a thread's lists was there, and which ranges were open. */
typedef struct collected {
  uint64_t infos, stacks; /* before the look at the open ranges */
  uint64_t ranges, memory, counters;
  open_look look;
} collected;

typedef struct activity_counts {
  uint64_t calls, devices;
} activity_counts;

/* Nothing is copied. */
void collect_look(const recorder_thread *self, collected *out);
/* Ranges that are open are cut at `end_ticks`. */
pd_status collect_thread(const recorder_thread *self, uint64_t end_ticks, window_thread *out, collected *taken);
/* Takes that away, but what open ranges still refer to. */
pd_status collect_drop(recorder_thread *self, const collected *taken);

/* Adds the calls and device records that have arrived from all threads to the arrays, which move. `sizes`: how many of
 * each thread. */
pd_status collect_activities(recorder_thread *const *threads, uint64_t count, raw_call **calls, uint64_t *call_count,
                             raw_device **devices, uint64_t *device_count, activity_counts *sizes);
void collect_drop_activities(recorder_thread *const *threads, uint64_t count, const activity_counts *sizes);

#endif
