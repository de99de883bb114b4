/*
 * pdhost reader ABI: a plugin that reads what another profiler wrote.
 *
 * The host opens a file, and asks for one window after the other. The reader puts rows into each, in any order; the
 * host sorts, nests and correlates them, finds the steps where none are marked, and hands the resulting pd_trace
 * to the analysis and the sinks.
 */
#ifndef PDHOST_READER_H
#define PDHOST_READER_H

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How sure a reader is that a file is one of its own. */
typedef uint32_t pd_probe;
enum {
  PD_PROBE_NO = 0,
  PD_PROBE_MAYBE = 1, /* it has the general form */
  PD_PROBE_YES = 2,
  PD_PROBE_RUN = 3 /* yes, and it holds a run of pdhost: its records go to pd_intake.record */
};

/* What the file says of itself. Texts are copied. What is zeroed is not known. */
typedef struct pd_source {
  uint32_t size;
  uint32_t pid;
  pd_facts facts;
  int64_t base_ns;                /* CLOCK_REALTIME of time 0 of the rows; 0: not known */
  const char *worker;             /* of the process that was recorded; NULL: not known */
  const char *versions;           /* "CUDA 13.0, CUPTI 130001"; NULL: not known */
  uint32_t rank, ranks;           /* of a distributed program; ranks 0: not one, or not known */
  uint32_t device_count;          /* rows of `devices` */
  uint32_t partial;               /* 1: a part of the file could not be read, so that events are missing */
  const pd_device_props *devices; /* `index` is the number that the rows' activities use */
  int64_t paused_ns;              /* pd_trace.paused_ns of this window */
} pd_source;

/* What an oddity means for what was read. */
typedef uint32_t pd_odd;
enum {
  PD_ODD_NOTE = 0,  /* worth knowing; no event is missing or wrong for it */
  PD_ODD_DAMAGE = 1 /* part of the file could not be read, or makes no sense */
};

/* A host range as read. Children may come before their parents; a range that ends after the one around it is cut. */
typedef struct pd_read_range {
  int64_t start_ns, end_ns;
  const pd_shape *shapes; /* of an operation's inputs; copied. dtype 0 is not known */
  uint32_t shape_count;   /* 0: not known */
  uint32_t name;          /* string id */
  pd_range_kind kind;
  pd_part part;
  uint32_t thread;   /* as pd_intake.thread returned it */
  uint32_t sequence; /* pd_range_info */
  uint32_t backward;
  uint32_t module; /* string id of the module's path whose forward it is, or with `backward` its backward; 0: none */
} pd_read_range;

/* A record of the capture of a run. Its kinds and rows are the recorder's own, of the same version of pdhost
 * (core/capture/format.h): only the reader of captures has them to give. */
typedef struct pd_captured {
  uint32_t kind, window, thread;
  uint32_t count, row_bytes; /* rows in the payload */
  uint32_t bytes;            /* of the payload */
  uint64_t first;            /* the number of the first row */
  uint64_t at;               /* the byte of the file at which the payload begins */
  const void *payload;       /* valid during the call */
} pd_captured;

typedef struct pd_intake pd_intake;
/* Where rows go. Times are nanoseconds, of one clock for all rows of a window. The host remembers that it ran out of
 * memory, and looks once, after next_window has returned. [loop thread] */
struct pd_intake {
  uint32_t size;
  uint32_t reserved;
  void *impl;

  /* The id of a string of `length` bytes; the same bytes give the same id within a window. 0 is that of the empty
   * string. */
  uint32_t (*intern)(const pd_intake *intake, const char *text, uint64_t length);
  /* The index of a thread of a process, the same for the same two numbers. */
  uint32_t (*thread)(const pd_intake *intake, uint32_t pid, uint32_t tid);
  void (*name_thread)(const pd_intake *intake, uint32_t thread, uint32_t name);

  void (*range)(const pd_intake *intake, const pd_read_range *range);
  /* Calls, kernels, copies, sets, synchronisations and overheads. `activity->thread` is an index of `thread`, or
   * PD_NONE for what has none. A call's `correlation` is 0 where it has none. */
  void (*activity)(const pd_intake *intake, const pd_activity *activity);
  /* A synchronisation record of a stream that waited for an event: see pd_other_row.awaited. */
  void (*wait)(const pd_intake *intake, const pd_activity *activity, uint64_t awaited);
  void (*memory)(const pd_intake *intake, uint32_t thread, int64_t ts_ns, const pd_memory_event *event);
  /* The mark of a step that the program set itself ("ProfilerStep#3"). */
  void (*step)(const pd_intake *intake, uint32_t thread, uint64_t number, int64_t start_ns, int64_t end_ns);
  void (*source)(const pd_intake *intake, const pd_source *source);
  /* The source says that it lost records. */
  void (*lost)(const pd_intake *intake, pd_loss loss, uint64_t count);
  /* What is odd about the file, once for each kind, in words without a full stop: "3 events are not JSON and are left
   * out, the first at byte 4711". The user sees it; damage is a warning. `count`: how many parts of the file it is
   * about, here 3. */
  void (*odd)(const pd_intake *intake, pd_odd how, uint64_t count, const char *format, ...) PD_PRINTF(4, 5);
  /* The byte of the file, decompressed, at which the rows that follow lie, or the first part that an `odd` that follows
   * is about. Not called: not known. */
  void (*place)(const pd_intake *intake, uint64_t byte);
  /* Bytes of the file read so far, for the progress line. May be called often. */
  void (*progress)(const pd_intake *intake, uint64_t bytes, uint64_t of);
  /* In place of rows: every record of a run's capture in the file's order, those of one window up to its end between
   * two calls of next_window. The first call gives the record of the run and that of its device alone. */
  void (*record)(const pd_intake *intake, const pd_captured *record);
  /* A function of the program itself, not of a library, while it ran; `name` holds its file and line, as in
   * "train.py(57): step". Operations get the stack of those around them. Ask with PD_HAS, and for NULL. */
  void (*frame)(const pd_intake *intake, uint32_t thread, uint32_t name, int64_t start_ns, int64_t end_ns);
  /* What the host did: rows as the trace has them, but with threads of `thread` and the intake's times. Facts that the
   * source names say whether there may be any. */
  void (*state)(const pd_intake *intake, const pd_state_row *row);
  void (*child)(const pd_intake *intake, const pd_child_row *row);
  void (*code)(const pd_intake *intake, const pd_code_row *row);
};

typedef struct pd_reader_ops {
  uint32_t size;
  uint32_t reserved PD_OR_ZERO;
  /* Looks at the first `bytes` of a file, decompressed where it is a gzip file. Opens nothing. [loop thread] */
  pd_probe (*probe)(const char *path, const void *first, uint64_t bytes);
  /* `path` "-" is standard input. `options` is filled and checked, and valid until close. On failure *state stays NULL.
   * [loop thread] */
  pd_status (*open)(const pd_host *host, const void *options, const char *path, void **state);
  /* Fills one window. PD_STOP: there is none left, and nothing was put into `intake`. [loop thread] */
  pd_status (*next_window)(void *state, const pd_intake *intake);
  /* [loop thread] */
  void (*close)(void *state);
} pd_reader_ops;

#define PD_READER(name_, version_, summary_, T, rows, ...)                                                             \
  static const pd_reader_ops pd_ops_ = {.size = sizeof(pd_reader_ops), __VA_ARGS__};                                   \
  PD_PLUGIN(PD_KIND_READER, reader, pd_ops_, name_, version_, summary_, T, rows)
#define PD_READER_PLAIN(name_, version_, summary_, ...)                                                                \
  static const pd_reader_ops pd_ops_ = {.size = sizeof(pd_reader_ops), __VA_ARGS__};                                   \
  PD_PLUGIN_PLAIN(PD_KIND_READER, reader, pd_ops_, name_, version_, summary_)

#ifdef __cplusplus
}
#endif
#endif
