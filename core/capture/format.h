/*
 * The capture file, *.pdcap: what a run recorded, before anything is computed from it.
 *
 * A file is one capture_file_head and then records, each a capture_head followed by `bytes` bytes of payload and as
 * many zeros as bring the whole to a multiple of 8. The file only ever grows at its end. Both parts of a record carry
 * a CRC32C, so that a reader knows a whole record from a torn one, and finds the next one after it by its mark.
 *
 *   run        one JSON object: who ran what with which settings
 *   window     one capture_window, then the rows of the window in records of at most CAPTURE_PART_BYTES each
 *   strings    capture_string and its text, again and again; ids rise by 1 from `first`, but those of a program may be
 *              any
 *   rows       `count` rows of `row_bytes`; the first of them is row `first` of its thread, kind and window
 *   step       one JSON object per step of the loop
 *   deliver    one JSON object: the window is complete
 *   summary    one JSON object: the run is over
 *   program    in place of run, where `pdhost record` recorded a process: a capture_program, and at its end a
 *              capture_program_end. Between them are record_gpu rows, pd_activity rows in CLOCK_REALTIME,
 *              capture_annotation and capture_pause rows, and strings
 *
 * Numbers are in the byte order of the machine that wrote the file; another one is refused. Rows are those of
 * core/trace/raw_window.h as they lie in memory: CAPTURE_VERSION changes with them.
 */
#ifndef CORE_CAPTURE_FORMAT_H
#define CORE_CAPTURE_FORMAT_H

#include <stdint.h>

#define CAPTURE_MAGIC "PDCAP\r\n\x1a" /* 8 bytes and a NUL that is not written */
enum { CAPTURE_VERSION = 3, CAPTURE_BYTE_ORDER = 0x01020304 };
enum { CAPTURE_OF_RUN = 0, CAPTURE_OF_PROGRAM = 1 }; /* of a run of pdhost's own, or of a process that it recorded */
enum { CAPTURE_MARK = 0x43524450 /* "PDRC" */, CAPTURE_ALIGN = 8 };
/* Rows of one record; a text or JSON object may be longer, up to CAPTURE_RECORD_BYTES. */
enum { CAPTURE_PART_BYTES = 65536, CAPTURE_RECORD_BYTES = 64 << 20 };

typedef struct capture_file_head {
  char magic[8];
  uint32_t version, byte_order;
  uint32_t head_bytes; /* of this structure: the first record follows */
  uint32_t pid;        /* of the program that was recorded */
  int64_t realtime_ns; /* when the file was begun */
  uint32_t origin;     /* CAPTURE_OF_RUN ... */
  uint32_t reserved[6];
  uint32_t crc; /* CRC32C of what comes before it */
} capture_file_head;

/* Kinds of records. X(name, value, text) */
#define CAPTURE_KIND_MAP(X)                                                                                            \
  X(RUN, 1, "run")                                                                                                     \
  X(STRINGS, 2, "strings")                                                                                             \
  X(WINDOW, 3, "window")                                                                                               \
  X(NOTE, 4, "note of a window")                                                                                       \
  X(DEVICE, 5, "device")                                                                                               \
  X(THREADS, 6, "threads")                                                                                             \
  X(TALLY, 7, "counts")                                                                                                \
  X(POINTS, 8, "points of the clock")                                                                                  \
  X(ZONES, 9, "steps of the clock")                                                                                    \
  X(STEPS, 10, "steps")                                                                                                \
  X(STEP_LOSSES, 11, "losses of steps")                                                                                \
  X(LOSSES, 12, "counts of what was lost")                                                                             \
  X(MARKS, 13, "places of what was lost")                                                                              \
  X(RANGES, 14, "ranges")                                                                                              \
  X(INFOS, 15, "details of ranges")                                                                                    \
  X(SHAPES, 16, "shapes")                                                                                              \
  X(STACKS, 17, "call stacks")                                                                                         \
  X(MEMORY, 18, "memory events")                                                                                       \
  X(COUNTERS, 19, "counters")                                                                                          \
  X(CALLS, 20, "calls")                                                                                                \
  X(DEVICES, 21, "device records")                                                                                     \
  X(EARLIER, 22, "earlier calls")                                                                                      \
  X(FRAMES, 23, "names of code")                                                                                       \
  X(STEP, 24, "step of the run")                                                                                       \
  X(DELIVER, 25, "end of a window")                                                                                    \
  X(SUMMARY, 26, "end of the run")                                                                                     \
  X(PROGRAM, 27, "program")                                                                                            \
  X(GPUS, 28, "GPUs")                                                                                                  \
  X(ACTIVITIES, 29, "calls and device records")                                                                        \
  X(PROGRAM_END, 30, "end of the program")                                                                             \
  X(ANNOTATIONS, 31, "ranges and marks of the program")                                                                \
  X(THREAD_NAMES, 32, "names of threads")                                                                              \
  X(SPANS, 33, "ranges of no one thread")                                                                              \
  X(TWIN, 34, "what recording costs")                                                                                  \
  X(PAUSES, 35, "pauses of the recording")                                                                             \
  X(STATES, 36, "states of threads")                                                                                   \
  X(CHILDREN, 37, "children of the program")                                                                           \
  X(CODE, 38, "places in the program's code")                                                                          \
  X(RANK, 39, "steps of a rank")                                                                                       \
  X(RANK_CLOCKS, 40, "clocks of the ranks")                                                                            \
  X(PLACES, 41, "places of threads")
typedef enum capture_kind {
#define CAPTURE_X(name, value, text) CAPTURE_##name = value,
  CAPTURE_KIND_MAP(CAPTURE_X)
#undef CAPTURE_X
      CAPTURE_KIND_END = 42
} capture_kind;

#define CAPTURE_NO_WINDOW UINT32_MAX

typedef struct capture_head {
  uint32_t mark, kind;
  uint32_t window; /* or CAPTURE_NO_WINDOW */
  uint32_t thread; /* system thread id, 0: of no one thread */
  uint64_t first;  /* index of the first row */
  uint32_t count, row_bytes;
  uint32_t bytes; /* of the payload */
  uint32_t payload_crc;
  uint32_t reserved;
  uint32_t crc; /* CRC32C of what comes before it */
} capture_head;

typedef struct capture_string {
  uint32_t id, bytes; /* of the text that follows, without a NUL, filled up to a multiple of 8 */
} capture_string;

/* How many rows of a kind a thread has in a window: what is missing is known from it. */
typedef struct capture_tally {
  uint32_t kind, thread;
  uint64_t count;
} capture_tally;

/* A thread of the window, and threads whose calls alone were seen. */
typedef struct capture_thread {
  uint32_t tid, name; /* string id */
} capture_thread;

typedef struct capture_frame {
  uint64_t address;
  uint32_t name; /* string id */
  uint32_t reserved;
} capture_frame;

/* A range that the program named, or where both times are one a mark. CLOCK_REALTIME; names are string ids. Those of
 * CAPTURE_SPANS may have begun on another thread than the one that ended them and wrote the row. */
typedef struct capture_annotation {
  int64_t start_ns, end_ns;
  uint32_t name, domain; /* domain 0: the one without a name */
} capture_annotation;

/* What the system calls a thread of the program. */
typedef struct capture_thread_name {
  uint32_t tid;
  char name[16];
} capture_thread_name;

/* The recording of a program was paused: until `start_ns` nothing is missing, and nothing of what was begun before
 * `end_ns` is there. CLOCK_REALTIME. */
typedef struct capture_pause {
  int64_t start_ns, end_ns;
  uint64_t lost[16]; /* by pd_loss, from the recording's start to the pause */
} capture_pause;

/* What a thread of the program was doing, in CLOCK_REALTIME: the fields of pd_state_row. */
typedef struct capture_state {
  int64_t start_ns, end_ns, process_ns;
  uint32_t state;  /* pd_host_state */
  char detail[36]; /* "read() of a pipe" */
} capture_state;

/* A child of the program: the fields of pd_child_row. */
typedef struct capture_child {
  int64_t ns, cpu_ns, disk_bytes, read_bytes;
  uint32_t pid, reserved;
  char name[16];
} capture_child;

/* Where a thread was in the program's own code. */
typedef struct capture_code {
  int64_t ns;
  uint32_t thread, place; /* system thread id; string id */
} capture_code;

/* The same as it was seen from outside; the record's thread. */
typedef struct capture_place {
  int64_t ns;
  char text[184]; /* "train.py:57 (step)" */
} capture_place;

/* A process that was recorded, and how that ended. */
typedef struct capture_program {
  uint32_t pid, cupti_version;
  int32_t rank, ranks; /* ranks 0: of no distributed program */
  char command[256];   /* its command line, cut */
} capture_program;

typedef struct capture_program_end {
  uint64_t lost[16];      /* by pd_loss */
  uint64_t torn;          /* places of the ring whose checksum was wrong */
  int64_t whole_until_ns; /* CLOCK_REALTIME: until then nothing is missing; INT64_MAX: nothing at all; 0: not known */
} capture_program_end;

/* A window's own facts; recorder_window has the words. Ticks are the clock's, which the POINTS turn into time. */
typedef struct capture_window {
  uint32_t window, loop_tid;
  uint32_t pid, profile;
  uint64_t start_ticks, end_ticks;
  int64_t clock_offset_ns;
  uint64_t start_allocated_bytes, start_reserved_bytes;
  int64_t unprofiled_step_ns;
  uint32_t sync_timing, copies_ahead, with_memory, has_losses;
  int64_t paused_ns;          /* pd_trace.paused_ns */
  uint64_t graph_input_bytes; /* pd_trace.graph_input_bytes */
} capture_window;

#endif
