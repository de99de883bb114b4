/*
 * pd_trace: one finished active window, merged, sorted, nested and correlated. Read-only; sinks and the analysis read
 * the same one.
 *
 * Times are int64 nanoseconds relative to `base_ns`. An index that points nowhere is PD_NONE. Arrays carry their
 * stride, so that rows can grow: read them through PD_AT.
 */
#ifndef PDHOST_TRACE_H
#define PDHOST_TRACE_H

#include "device.h"
#include "record.h"
#include "scenario.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PD_NONE UINT32_MAX

typedef struct pd_array {
  const void *data;
  uint64_t count;
  uint64_t stride; /* bytes from row to row */
} pd_array;

/* Row `i` of a pd_array of `T`: PD_AT(pd_range, &trace->ranges, i)->start_ns */
#define PD_AT(T, array, i)                                                                                             \
  ((const T *)(const void *)((const char *)(array)->data + (size_t)(i) * (size_t)(array)->stride))

/* UTF-8, always valid and NUL-terminated: bytes that were not are replaced by U+FFFD when interned. */
typedef struct pd_string {
  const char *text;
  uint64_t length;
} pd_string;

/* Above all ids of threads. A row with this id or a larger one is not a thread: it holds ranges that may begin on one
 * thread and end on another. */
#define PD_THREAD_SPANS UINT32_C(0x7f000000)

typedef struct pd_thread {
  uint32_t tid;  /* system thread id, or PD_THREAD_SPANS and more */
  uint32_t name; /* string id */
} pd_thread;

typedef struct pd_stream_row {
  uint32_t device, context, stream;
  uint32_t name; /* string id: "stream 7" */
} pd_stream_row;

/* Host ranges, sorted by (thread, start, -end, depth); properly nested per thread. */
typedef struct pd_range {
  int64_t start_ns, end_ns;
  uint32_t name;        /* string id */
  uint8_t kind;         /* pd_range_kind */
  uint8_t part;         /* pd_part: its own or, when it has none, its nearest ancestor's */
  uint8_t backward;     /* pd_range_info */
  uint8_t shape_count;  /* at most 255 of its shapes are kept */
  uint32_t thread;      /* index into threads */
  uint32_t parent;      /* index into ranges, or PD_NONE */
  uint32_t depth;       /* 0 at the top */
  uint32_t step;        /* index into steps of the step it starts in, by time; PD_NONE outside */
  uint32_t sequence;    /* pd_range_info */
  uint32_t module;      /* string id, 0: none */
  uint32_t shape_first; /* into shapes */
  uint32_t stack;       /* index into stacks, or PD_NONE */
  uint64_t flops;
} pd_range;

/* Runtime and driver calls, sorted by start. */
typedef struct pd_call {
  int64_t start_ns, end_ns;
  uint64_t correlation;
  uint32_t name;         /* string id */
  uint32_t thread;       /* index into threads */
  uint32_t range;        /* innermost op or, failing that, user range that holds it on its thread; PD_NONE */
  uint32_t step;         /* index into steps by start time; PD_NONE */
  pd_activity_kind kind; /* RUNTIME or DRIVER */
  pd_api_class api;
  uint32_t cbid;
  int32_t result;
  uint32_t activity_first; /* first device record of this call, into activities_by_call */
  uint32_t activity_count;
} pd_call;

/* Device records: kernels, copies, sets, sorted by start. A record belongs to the window and step of the call that
 * launched it, whenever it ran. */
typedef struct pd_device_row {
  int64_t start_ns, end_ns;
  uint32_t name;   /* string id; copies: "Memcpy HtoD (Pinned -> Device)", sets: "Memset (Device)" */
  uint32_t stream; /* index into streams, never PD_NONE */
  uint32_t call;   /* index into calls; PD_NONE: counted as UNMATCHED_ACTIVITY, or in pd_trace.backlog */
  uint32_t range;  /* the call's */
  uint32_t step;   /* the call's */
  uint32_t reserved;
  pd_activity detail; /* as delivered, times in the trace's base */
} pd_device_row;

/* Overhead records and device-side synchronisations, sorted by start. */
typedef struct pd_other_row {
  int64_t start_ns, end_ns;
  uint32_t name;
  pd_activity_kind kind;
  uint32_t thread;          /* index into threads, or PD_NONE */
  uint32_t stream;          /* index into streams, or PD_NONE */
  uint64_t correlation;     /* of the call that waited; 0: unknown or an overhead */
  uint32_t device, context; /* of a synchronisation, of a whole context's too */
  /* With PD_FACT_EVENTS, of a stream's wait for an event: correlation of the call that recorded the event; 0: not
   * known. The wait is for the work that was on that call's stream by then. */
  uint64_t awaited;
} pd_other_row;

typedef struct pd_memory_row {
  int64_t ts_ns;
  uint32_t thread;
  uint32_t range; /* innermost range of any kind on its thread, or PD_NONE */
  uint32_t step;
  uint32_t duration_ns; /* in the allocator, clamped to 4.29 s */
  pd_memory_event event;
} pd_memory_row;

typedef struct pd_counter_row {
  int64_t ts_ns;
  double value;
  uint32_t name;
  uint32_t reserved;
} pd_counter_row;

/* What a thread was doing, as the system sees it. */
typedef uint32_t pd_host_state;
enum {
  PD_HOST_RUNS = 1,    /* on a processor */
  PD_HOST_DELAYED = 2, /* it could run, and had no processor */
  PD_HOST_READ = 3,    /* blocked in a call that reads or receives */
  PD_HOST_POLL = 4,    /* blocked until a file has something: poll, select, epoll */
  PD_HOST_FUTEX = 5,   /* blocked for another thread: a lock, a condition, a semaphore */
  PD_HOST_SLEEP = 6,   /* it asked for time to pass */
  PD_HOST_FAULT = 7,   /* blocked for a page of its memory */
  PD_HOST_CALL = 8,    /* blocked in another call of the system */
  PD_HOST_BLOCKED = 9  /* blocked; where was not seen */
};

/* A time in which a thread was in one state, sorted by (thread, start); they do not overlap. Between two of them the
 * state is not known. */
typedef struct pd_state_row {
  int64_t start_ns, end_ns;
  int64_t process_ns; /* processor time of the whole process meanwhile, at most; -1: not known */
  uint32_t thread;    /* index into threads */
  uint32_t name;      /* string id: "read() of a pipe"; 0: nothing but the state is known */
  pd_host_state state;
  uint32_t reserved;
} pd_state_row;

/* What a child of the program had used up to a time, sorted by (pid, time). -1: not known. */
typedef struct pd_child_row {
  int64_t ts_ns;
  int64_t cpu_ns;     /* processor time so far */
  int64_t disk_bytes; /* read from storage so far */
  int64_t read_bytes; /* read by calls so far, from memory, pipes and sockets too */
  uint32_t pid;
  uint32_t name; /* string id */
} pd_child_row;

/* Where in its own source code a thread was, sorted by (thread, time). */
typedef struct pd_code_row {
  int64_t ts_ns;
  uint32_t thread; /* index into threads */
  uint32_t place;  /* string id: "train.py:42" */
} pd_code_row;

/* One active step, in order. [start_ns, end_ns) are back to back: a step runs from the end of the one before (its wait
 * for data included) to its own end. */
typedef struct pd_trace_step {
  int64_t start_ns, end_ns;
  int64_t train_start_ns, train_end_ns; /* the measured part, t0 to t1 */
  int64_t data_wait_ns;
  int64_t step_time_ns; /* t1 - t0, or device time with sync_timing = false */
  uint64_t number;      /* N of ProfilerStep#N */
  uint64_t launches;    /* successful launches, copies, sets of any bytes; a graph launch counts once */
  uint64_t matched;     /* of them, those with at least one device record */
  uint64_t device_rows;
  double loss; /* NaN where the loss was not read */
} pd_trace_step;

/* Where something was lost: somewhere in [start_ns, end_ns]. Sorted by start; the counts add up to `losses`. */
typedef struct pd_loss_row {
  int64_t start_ns, end_ns;
  uint64_t count;
  pd_loss loss;
  uint32_t thread; /* index into threads; PD_NONE: of no one thread */
} pd_loss_row;

/* What the source of a window was able to know. A bit that is set says that these rows are complete: where there are
 * none, none happened. Where it is not set, nothing may be concluded from missing rows. */
typedef uint64_t pd_facts;
enum {
  PD_FACT_CALLS = 1 << 0,      /* runtime and driver calls: pd_trace.calls */
  PD_FACT_OPERATIONS = 1 << 1, /* the framework's operations: ranges of PD_RANGE_OP */
  PD_FACT_STEPS = 1 << 2,      /* the program marked its steps; not set: they were found, or there are none */
  PD_FACT_INPUT = 1 << 3,      /* waits for the loader: ranges of PD_RANGE_DATALOADER, and data_wait_ns of the steps */
  PD_FACT_PARTS = 1 << 4,      /* which part of the step a range belongs to: pd_range.part */
  PD_FACT_MEMORY = 1 << 5,     /* every allocation and free: pd_trace.memory */
  PD_FACT_EVENTS = 1 << 6,     /* which event a stream waited for: pd_other_row.awaited */
  PD_FACT_LOSSES = 1 << 7,     /* the source counted what it lost: pd_trace.losses; else more may be missing */
  PD_FACT_RECORDER_COST = 1 << 8, /* what recording cost: pd_trace.record_cost_ns */
  PD_FACT_TRAIN = 1 << 9,         /* the measured part of a step, t0 to t1; else it is the step without its wait */
  PD_FACT_STATES = 1 << 10,       /* what launching threads did, where there is a row of it: pd_trace.states */
  PD_FACT_CHILDREN = 1 << 11,     /* what the program's children used: pd_trace.children */
  PD_FACT_CODE = 1 << 12,         /* samples of where the program's code was: pd_trace.code */
  PD_FACT_SERVING = 1 << 13,      /* the program is an inference server: nothing is trained */
  /* Not of what it knew: the program's own functions were skipped, as the user asked, and stacks hold none. */
  PD_FACT_FRAMES_SKIPPED = 1 << 14
};

/* What recording adds to a step, measured within the window: recorded steps took turns with others that were not
 * (schedule.twin). */
typedef struct pd_twin {
  int64_t step_ns;                   /* mean of the steps that were not recorded, each from when it has its batch */
  int64_t added_ns, low_ns, high_ns; /* by which a recorded step is longer, and its 95 % interval; may be below 0 */
  uint32_t rounds;                   /* that this rests on; 0: it was not measured, and all is 0 */
  uint32_t reserved;
} pd_twin;

typedef struct pd_trace {
  uint32_t size;
  uint32_t window;          /* from 0 */
  int64_t base_ns;          /* CLOCK_REALTIME of time 0 */
  int64_t start_ns, end_ns; /* of the window: first active step's start to last one's end */
  uint32_t pid;
  uint32_t reserved;
  pd_array strings;            /* of pd_string; id 0 is "" */
  pd_array threads;            /* of pd_thread; the loop's is index 0 */
  pd_array streams;            /* of pd_stream_row */
  pd_array ranges;             /* of pd_range */
  pd_array calls;              /* of pd_call */
  pd_array activities;         /* of pd_device_row */
  pd_array activities_by_call; /* of uint32_t: indices into activities, grouped by call */
  pd_array others;             /* of pd_other_row */
  pd_array memory;             /* of pd_memory_row, sorted by time */
  pd_array counters;           /* of pd_counter_row, sorted by time */
  pd_array steps;              /* of pd_trace_step */
  pd_array shapes;             /* of pd_shape */
  pd_array stacks;             /* of pd_stack */
  uint64_t losses[16];         /* by pd_loss */
  pd_profile_mode profile;     /* how device records were made */
  uint32_t sync_timing;        /* 1: steps are bounded by device synchronisations */
  const char *profile_note;    /* why `profile` is not FULL, or NULL */
  const pd_device_props *device;
  uint32_t partial; /* 1: cut short by a signal, a failure or the end of the data */
  uint32_t reserved_partial;
  uint64_t start_allocated_bytes, start_reserved_bytes; /* of device memory when the window began; 0: not known */
  pd_array loss_rows;                                   /* of pd_loss_row */
  /* What the run's steps took before the profiling library was there, 0: not known. With sync_timing the median of the
   * time from when a step has its batch to its end; else the mean pace of a stretch of them, from one wait for the
   * device to the next. */
  int64_t unprofiled_step_ns;
  uint32_t copies_ahead; /* 1: a batch that is ready in time is copied beside the step before */
  uint32_t reserved_copies_ahead;
  int64_t corrected_ns; /* most that a device record was moved to begin after its launch (TIME_CORRECTED) */
  const char *origin;   /* what recorded the window: "pdhost", or the reader's word for it ("kineto") */
  pd_facts facts;       /* PD_FACT_* */
  /* Host time that recording one operation or call added to the program, with PD_FACT_RECORDER_COST. */
  int64_t record_cost_ns;
  /* Device records without a call that come before their stream's first record with one: work that was launched before
   * the recording began. They are not a loss. */
  uint64_t backlog;
  /* The rank in a distributed program, and how many there are. ranks 0: it is not one, or it is not known; then rank is
   * the file's number, where several files are read together. */
  uint32_t rank, ranks;
  pd_twin twin;
  /* Time that is cut out of the window, between steps, where steps ran that were not recorded. What follows lies
   * earlier than the clock had it, by this time. */
  int64_t unrecorded_ns;
  /* How long the user had paused the recording when this window began; 0: not at all. Nothing is known of that time,
   * which belongs to no window. */
  int64_t paused_ns;
  pd_array states;   /* of pd_state_row, with PD_FACT_STATES */
  pd_array children; /* of pd_child_row, with PD_FACT_CHILDREN */
  pd_array code;     /* of pd_code_row, with PD_FACT_CODE */
  /* Why the steps of another program's window were not found, so that all of it is one step; NULL: they are known. */
  const char *steps_note;
  /* The bytes of a batch that is on the device before its step: a captured graph, which reads one place alone, has it
   * copied there. 0: there is none, it is not known, or the run's steps are graphs already or cannot be. */
  uint64_t graph_input_bytes;
  /* How the steps of another program's window were found, which does not mark steps of training; NULL: it marks them,
   * or none were found. */
  const char *steps_found;
} pd_trace;

/* One distinct call stack, innermost frame last; frames are string ids ("function (file.c:12)"). */
typedef struct pd_stack {
  const uint32_t *frames;
  uint64_t count;
} pd_stack;

static inline const pd_string *pd_trace_string(const pd_trace *trace, uint32_t id) {
  return PD_AT(pd_string, &trace->strings, id < trace->strings.count ? id : 0);
}

/* The innermost of `range` and the ranges around it that annotates device work: a user's, the loop's wait for a batch
 * or a worker's, not a step's. PD_NONE: there is none, or `range` is PD_NONE. */
static inline uint32_t pd_trace_annotation(const pd_trace *trace, uint32_t range) {
  for (; range != PD_NONE; range = PD_AT(pd_range, &trace->ranges, range)->parent) {
    const pd_range_kind kind = PD_AT(pd_range, &trace->ranges, range)->kind;
    if (kind == PD_RANGE_USER || kind == PD_RANGE_DATALOADER || kind == PD_RANGE_WORKER) break;
  }
  return range;
}

/* Share of launches in the window that have their device record, 0..1; 1 when there were none. NaN, for which outputs
 * say n/a, where `profile` is not FULL, or where operations ran and none of their launches was recorded. */
static inline double pd_trace_coverage(const pd_trace *trace) {
  uint64_t launches = 0, matched = 0, i;
  if (trace->profile != PD_PROFILE_FULL) return (double)NAN;
  for (i = 0; i < trace->steps.count; i++) {
    launches += PD_AT(pd_trace_step, &trace->steps, i)->launches;
    matched += PD_AT(pd_trace_step, &trace->steps, i)->matched;
  }
  if (launches) return (double)matched / (double)launches;
  for (i = 0; i < trace->ranges.count; i++)
    if (PD_AT(pd_range, &trace->ranges, i)->kind == PD_RANGE_OP) return (double)NAN;
  return 1.0;
}

#ifdef __cplusplus
}
#endif
#endif
