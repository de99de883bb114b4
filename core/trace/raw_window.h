/*
 * What one window recorded, flat and unsorted, as merge and correlate read it. The recorder collects it; property
 * tests write it by hand. [loop thread]
 */
#ifndef CORE_TRACE_RAW_WINDOW_H
#define CORE_TRACE_RAW_WINDOW_H

#include "clock.h"
#include "loss_marks.h"
#include "recorder.h"
#include "strings.h"

#include "capture/format.h"

/* A finished range. A thread's ranges are in the order in which they ended: children before their parent. */
typedef struct raw_range {
  uint64_t start, end; /* ticks */
  uint32_t name;
  uint16_t kind, depth;
  uint32_t info;  /* index into infos, or PD_NONE */
  uint32_t stack; /* index into stacks, or PD_NONE */
} raw_range;

/* A range's pd_range_info. */
typedef struct raw_info {
  uint64_t flops;
  pd_part part;
  uint32_t sequence, backward, module;
  uint32_t shape_first, shape_count; /* into shapes */
} raw_info;

enum { RAW_STACK_DEPTH = 32 };
typedef struct raw_stack {
  uint64_t count;
  void *frames[RAW_STACK_DEPTH]; /* innermost first */
} raw_stack;

typedef struct raw_memory {
  uint64_t ticks;
  pd_memory_event event;
} raw_memory;

typedef struct raw_counter {
  uint64_t ticks;
  double value;
  uint32_t name;
  uint32_t reserved;
} raw_counter;

/* A runtime or driver call: the part of pd_activity that it uses. */
typedef struct raw_call {
  int64_t start, end; /* in `clock` */
  uint64_t correlation;
  uint32_t name, thread, cbid;
  int32_t result;
  uint8_t kind, clock;
  uint16_t api;
  uint32_t reserved;
} raw_call;

/* Any other activity. */
typedef struct raw_device {
  pd_activity activity;
  uint32_t clock;
  uint32_t reserved;
} raw_device;

typedef struct window_thread {
  uint32_t tid, name;
  uint64_t range_count, info_count, shape_count, stack_count, memory_count, counter_count;
  raw_range *ranges;
  raw_info *infos;
  pd_shape *shapes;
  raw_stack *stacks;
  raw_memory *memory;
  raw_counter *counters;
} window_thread;

typedef capture_frame frame_name;

/* How many threads, calls and records a window may have: indices are 32 bits wide and PD_NONE is none of them. */
#define WINDOW_MAX_ROWS ((uint64_t)UINT32_MAX - 1)

typedef struct window_input {
  const trace_clock *clock;
  string_table *strings;
  uint32_t window;
  uint32_t loop_tid;
  uint64_t start_ticks, end_ticks;
  window_thread *threads; /* sorted by tid, no two alike */
  uint64_t thread_count;
  raw_call *calls;
  uint64_t call_count;
  raw_device *devices;
  uint64_t device_count;
  const uint64_t *earlier; /* correlation ids of calls before the window, sorted */
  uint64_t earlier_count;
  const recorder_step *steps;
  uint64_t step_count;
  const recorder_window *end;
  bool with_memory; /* allocations were recorded */
  uint32_t pid;
  const capture_thread *call_threads; /* names of threads whose calls alone were seen; each once */
  uint64_t call_thread_count;
  const frame_name *frames; /* names of the stacks' addresses, sorted; NULL: this process knows them */
  uint64_t frame_count;
  uint64_t losses[PD_LOSS_COUNT];
  const loss_marks *marks; /* where, in ticks; NULL: not known */
} window_input;

/* What correlation found out about a call or record. */
typedef uint8_t raw_fate;
enum { FATE_DROPPED = 0, FATE_KEPT = 1, FATE_LATER = 2 /* belongs to a later window */ };

/* Sorts the threads by number, and `earlier`, which the input's own is, by correlation id. */
void raw_window_sort(window_input *input, uint64_t *earlier);

/* Frees the arrays of the threads, not `threads` itself. */
void raw_window_thread_free(window_thread *thread);

#endif
