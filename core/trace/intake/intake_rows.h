/* The rows of an intake as they lie in memory until intake_finish: 32 to 48 bytes each. What repeats with every launch
 * of one kernel (its name, grid, registers) is kept once. Only for the files of this folder. */
#ifndef CORE_TRACE_INTAKE_INTAKE_ROWS_H
#define CORE_TRACE_INTAKE_INTAKE_ROWS_H

#include "intake.h"

#include "trace/merge.h"
#include "trace/row_array.h"
#include "trace/strings.h"

#include <stdarg.h>

typedef struct read_range {
  int64_t start, end;
  uint32_t name, thread, sequence;
  uint32_t shape_set; /* index + 1; 0: none */
  uint32_t module;
  uint8_t kind, part, backward, reserved;
} read_range;

/* A function of the program's own while it ran. */
typedef struct read_frame {
  int64_t start, end;
  uint32_t name, thread;
} read_frame;

/* The shapes of an operation's inputs: equal lists are kept once. */
typedef struct read_shapes {
  uint32_t first, count; /* into shapes */
} read_shapes;

typedef struct read_call {
  int64_t start, end;
  uint64_t correlation;
  uint32_t name, thread, cbid;
  int32_t result;
  uint8_t kind, api;
  bool dropped; /* made inside another call of the same number */
} read_call;

typedef struct read_work {
  int64_t start, end;
  uint64_t correlation, bytes;
  uint32_t detail; /* index into details */
  uint32_t stream; /* index into streams */
} read_work;

typedef struct read_other {
  pd_activity activity;
  uint64_t awaited;
} read_other;

typedef struct read_memory {
  int64_t ts;
  uint32_t thread;
  pd_memory_event event;
} read_memory;

typedef struct read_step {
  int64_t start, end;
  uint64_t number;
  uint32_t thread;
} read_step;

typedef struct read_thread {
  uint32_t pid, tid, name;
} read_thread;

struct intake {
  pd_intake table;
  intake_listener listener;
  string_table *strings;
  row_array ranges, frames, calls, works, others, memory, steps;
  row_array states, children, code; /* as in the trace, with the reader's threads and times */
  row_array details;                /* of pd_activity without times, bytes and correlation */
  row_array streams;                /* of pd_stream_row without name */
  row_array threads;
  row_array thread_keys; /* of uint64_t: pid and tid; by the same indices */
  row_array shapes, shape_sets;
  row_array shape_keys; /* of two uint64_t: hashes of a list; by the same indices as shape_sets */
  row_index detail_index, stream_index, thread_index, shape_index;
  uint32_t last_thread;
  uint64_t losses[PD_LOSS_COUNT];
  pd_source source;
  char *worker, *versions;
  pd_device_props *devices;
  char **device_names;
  memory_guard guard; /* counts ranges, activities, memory events and steps, dropped ones too */
  bool failed;        /* out of memory */
};

/* One window on its way from rows to a trace. */
typedef struct intake_build {
  intake *from;
  owned_trace *owned;
  pd_trace *trace;
  merging merge;         /* for the sweep over ranges: rows, threads and their ranges */
  int64_t base;          /* what is subtracted from every time */
  uint32_t *thread_rows; /* index of the trace's thread by index of the reader's */
  uint32_t *stream_rows;
  uint64_t losses[PD_LOSS_COUNT];
  int64_t loss_start[PD_LOSS_COUNT], loss_end[PD_LOSS_COUNT];
} intake_build;

PD_PRINTF(3, 0) void intake_tell(const intake *self, pd_odd how, const char *format, va_list args);
/* The list's index in shape_sets + 1; 0 on no memory, and `failed` is set. */
uint32_t intake_shape_set(intake *self, const pd_shape *shapes, uint32_t count);
void intake_drop_shapes(intake *self);
/* The part of the table that takes what the host did. */
void intake_open_host(pd_intake *table);
pd_status intake_build_shapes(intake_build *self); /* before ranges */
void intake_build_lost(intake_build *self, pd_loss loss, int64_t at_ns);
/* "3 things are so" through the listener, where `count` is not 0. */
PD_PRINTF(4, 5) void intake_build_odd(const intake_build *self, uint64_t count, pd_odd how, const char *format, ...);

pd_status intake_build_threads(intake_build *self);
pd_status intake_build_ranges(intake_build *self);
pd_status intake_build_stacks(intake_build *self); /* after ranges */
pd_status intake_build_calls(intake_build *self);  /* after ranges */
pd_status intake_build_device(intake_build *self); /* after calls */
pd_status intake_build_memory(intake_build *self); /* after ranges */
pd_status intake_build_host(intake_build *self);   /* after threads */
pd_status intake_build_steps(intake_build *self);  /* after all others */

#endif
