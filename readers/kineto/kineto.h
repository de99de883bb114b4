/* The kineto reader: one trace file of torch.profiler into one window. Private to this folder. */
#ifndef READERS_KINETO_KINETO_H
#define READERS_KINETO_KINETO_H

#include "kineto_input.h"
#include "json_scan.h"

#include <pdhost/reader.h>

typedef struct kineto_options {
  const char *python; /* what is read of python_function events: lines, modules as well, or none */
} kineto_options;

/* What an event is, by its category: today's names, and those of 2021. */
typedef enum kineto_category {
  KINETO_SKIP = 0,
  KINETO_OPERATION,  /* cpu_op, Operator */
  KINETO_ANNOTATION, /* user_annotation */
  KINETO_PYTHON,     /* python_function */
  KINETO_RUNTIME,    /* cuda_runtime, Runtime, xpu_runtime and the like */
  KINETO_DRIVER,     /* cuda_driver and the like */
  KINETO_KERNEL,
  KINETO_MEMCPY,
  KINETO_MEMSET,
  KINETO_SYNC,     /* cuda_sync */
  KINETO_OVERHEAD, /* overhead */
  KINETO_UNREAD,   /* records of a device that are not read: hpu_op, mtia_ccp_events, mtia_insight */
  KINETO_INSTANT,  /* cpu_instant_event, and [memory] events without a category */
  KINETO_CATEGORY_COUNT
} kineto_category;

/* X(field, key): numbers of an event's args. */
#define KINETO_ARGS(X)                                                                                                 \
  X(correlation, "correlation")                                                                                        \
  X(device, "device")                                                                                                  \
  X(context, "context")                                                                                                \
  X(stream, "stream")                                                                                                  \
  X(bytes, "bytes")                                                                                                    \
  X(registers, "registers per thread")                                                                                 \
  X(shared, "shared memory")                                                                                           \
  X(occupancy, "est. achieved occupancy %")                                                                            \
  X(graph, "graph id")                                                                                                 \
  X(graph_node, "graph node id")                                                                                       \
  X(cbid, "cbid")                                                                                                      \
  X(sequence, "Sequence number")                                                                                       \
  X(forward_thread, "Fwd thread id")                                                                                   \
  X(address, "Addr")                                                                                                   \
  X(size, "Bytes")                                                                                                     \
  X(allocated, "Total Allocated")                                                                                      \
  X(reserved, "Total Reserved")                                                                                        \
  X(device_type, "Device Type")                                                                                        \
  X(device_id, "Device Id")                                                                                            \
  X(awaited, "wait_on_cuda_event_record_corr_id")                                                                      \
  X(message_items, "In msg nelems")                                                                                    \
  X(group_size, "Group size")

typedef enum kineto_arg {
#define X(field, key) KINETO_ARG_##field,
  KINETO_ARGS(X)
#undef X
      KINETO_ARG_COUNT
} kineto_arg;

typedef struct kineto_args {
  int64_t numbers[KINETO_ARG_COUNT]; /* set where `has` says so */
  uint32_t has;                      /* bit per kineto_arg */
  uint32_t grid[3], block[3];
  double blocks_per_sm, warps_per_sm;
  scan_text thread_name;
  scan_text dims;         /* "Input Dims" */
  scan_text message_type; /* "dtype" of a collective */
  scan_text group_ranks;  /* "Process Group Ranks" of a collective */
} kineto_args;
/* One event as it is in the buffer. */
typedef struct kineto_event {
  scan_text phase, name, args, pid, tid;
  int64_t start_ns, duration_ns;
  kineto_category category;
  bool has_start, has_duration;
  bool has_parsed; /* `parsed` holds the args already */
  kineto_args parsed;
} kineto_event;

/* What stood between one value and the next in an event before: separators, key and colon. A writer's events of one
 * category have the same keys in the same order, so that mostly the same bytes stand there again. */
enum { KINETO_EXPECTED_BYTES = 48, KINETO_EXPECTED_MEMBERS = 16, KINETO_EXPECTED_ARGS = 32 };
typedef struct kineto_expected {
  char text[KINETO_EXPECTED_BYTES];
  uint64_t wanted; /* a bit for each of `bytes` */
  uint32_t bytes;  /* 0: nothing is expected */
  uint32_t what;   /* which key it is, or the object's end */
} kineto_expected;
/* All zero at first. */
typedef struct kineto_layout {
  kineto_expected members[KINETO_EXPECTED_MEMBERS], args[KINETO_CATEGORY_COUNT][KINETO_EXPECTED_ARGS];
} kineto_layout;
#define KINETO_HAS(args, field) ((args)->has >> KINETO_ARG_##field & 1)
#define KINETO_GET(args, field, otherwise) (KINETO_HAS(args, field) ? (args)->numbers[KINETO_ARG_##field] : (otherwise))

/* String ids and what is known of a name, by the bytes in the file: a name is looked at once. */
typedef struct kineto_name {
  uint64_t hash;
  char *text; /* as in the file */
  size_t length;
  uint32_t id; /* string id */
  pd_api_class api;
  uint8_t role; /* range_role */
  pd_memory_kind from, to;
} kineto_name;
typedef struct kineto_names {
  kineto_name *rows;
  uint32_t *slots; /* index + 1 */
  uint64_t count, room, mask;
} kineto_names;

/* A kernel of a collective. The file may say behind its events how many ranks there are, and the name depends on that.
 */
typedef struct kineto_collective {
  pd_activity work;
  uint64_t at;          /* its place in the file */
  int64_t ranks;        /* in its group */
  uint32_t name, group; /* of names.rows: its own name, and "[0, 1]" */
} kineto_collective;
typedef struct kineto_collectives {
  kineto_collective *all;
  uint64_t count, room;
} kineto_collectives;

/* What is odd, and where it was met first. */
typedef struct kineto_oddity {
  uint64_t count, first;
} kineto_oddity;

/* Some programs begin a text in UTF-8 with it. */
#define KINETO_MARK "\xEF\xBB\xBF"

typedef struct kineto_reader {
  const pd_host *host;
  const pd_intake *intake;
  const char *path;
  input input;
  bool reads_modules; /* nn.Module calls of python_function events */
  bool skips_python;  /* all python_function events */
  kineto_names names;
  kineto_collectives collectives;
  kineto_layout layout;
  pd_facts facts;
  int64_t base_ns;
  pd_source source;
  pd_device_props devices[64];
  char device_names[64][64];
  char versions[256];
  char trace_name[256];
  uint64_t kept;
  uint64_t left, left_python, left_pairs; /* events that are no rows; of them, python_function, and B or E */
  kineto_oddity malformed, untimed, unnamed, unread;
  kineto_oddity pairs;    /* B and E of a category that is read */
  kineto_oddity endless;  /* X without a length */
  kineto_oddity brackets; /* that end the list of events before its end */
  kineto_oddity behind;   /* events after the list's end */
  kineto_oddity skipped;  /* what stands beside the list of events, and is not JSON */
  uint64_t skipped_bytes; /* of all of it */
  bool has_list;          /* the list of events was met */
  bool has_bare_event;    /* the file's object is an event */
  bool done, complete, is_rocm, no_memory;
} kineto_reader;

/* The name's row; NULL on no memory. */
const kineto_name *kineto_name_of(kineto_reader *self, scan_text text);
/* [[64, 3, 224, 224], [64], []] as shapes; their number, 0 where there are none, or more than `room`, or lists of
 * tensors, or tensors of more than four dimensions. */
uint32_t kineto_shapes(scan_text dims, pd_shape *out, uint32_t room);

void kineto_names_free(kineto_names *self);

/* Keeps a kernel whose args name the group of its collective, up to kineto_collectives_give. */
void kineto_collectives_hold(kineto_reader *self, const pd_activity *work, const kineto_name *name,
                             const kineto_args *args, uint64_t at);
/* Once all of the file was read: puts them into the intake. */
void kineto_collectives_give(kineto_reader *self);
void kineto_collectives_free(kineto_collectives *self);

/* Reads one event, at its {; with `no_python` of a python_function event no more than that it is one. Where it ends;
 * NULL with *cut as in json_scan.h. */
const char *kineto_event_scan(kineto_layout *layout, bool no_python, const char *at, const char *end, kineto_event *out,
                              bool *cut);
/* Before the first event is scanned. */
void kineto_args_prepare(void);
/* The event's args, scanned now if they were not before. */
const kineto_args *kineto_event_args(kineto_event *event);
/* Puts an event into the intake. `at` is its offset in the file. */
void kineto_event_take(kineto_reader *self, kineto_event *event, uint64_t at);

/* The file's other members: deviceProperties, baseTimeNanoseconds, distributedInfo, versions. */
void kineto_header_take(kineto_reader *self, scan_text key, scan_text value);

/* Whether a file that begins so cannot be read as it is; then says what to do, and returns PD_INVALID. */
bool kineto_is_other(const char *first, uint64_t bytes);
pd_status kineto_refuse_other(const kineto_reader *self, const char *first, uint64_t bytes);

/* Once all of the file was read: what is odd about it. */
void kineto_tell_oddities(const kineto_reader *self);
/* Why a whole file has nothing to be read; PD_STOP where that was told as damage. */
pd_status kineto_say_nothing_kept(const kineto_reader *self);
/* Why a file is none that could be read. */
pd_status kineto_say_no_json(const kineto_reader *self);

/* Reads the whole file. PD_STOP, or an error that says why: it holds no event. */
pd_status kineto_file_read(kineto_reader *self);

#endif
