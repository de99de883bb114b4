/*
 * Recorder extension: ranges, activities, memory events and counters, from plugins and from the core alike.
 *
 * Names are interned once per call site; the hot path passes the id. A recorder that is off costs one relaxed load
 * and a branch in pd_range_begin().
 */
#ifndef PDHOST_RECORD_H
#define PDHOST_RECORD_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PD_EXT_RECORD "pdhost.record/1"

/* What a host range is, with Kineto's word for it where it has one. */
typedef uint32_t pd_range_kind;
enum {
  PD_RANGE_OP = 1,         /* cpu_op: a framework operation, forward or backward */
  PD_RANGE_USER = 2,       /* user_annotation: record_function, RecordEvent */
  PD_RANGE_STEP = 3,       /* user_annotation ProfilerStep#N; the loop's alone */
  PD_RANGE_DATALOADER = 4, /* user_annotation enumerate(DataLoader)#..., the loop's wait for a batch */
  PD_RANGE_WORKER = 5,     /* user_annotation on a loader thread: making one batch */
  PD_RANGE_MODULE = 6,     /* python_function: nn.Module, with profile.with_modules */
  PD_RANGE_OP_INNER = 7    /* cpu_op inside an operation (Paddle's OperatorInner) */
};

/* The part of the training step a range belongs to; ranges inherit it from their parent when 0. */
typedef uint32_t pd_part;
enum { PD_PART_NONE = 0, PD_PART_DATALOADER = 1, PD_PART_FORWARD = 2, PD_PART_BACKWARD = 3, PD_PART_OPTIMIZATION = 4 };

/* Device-side and runtime-side records. */
typedef uint32_t pd_activity_kind;
enum {
  PD_ACTIVITY_RUNTIME = 1, /* a runtime call on a host thread: a launch, a copy, a synchronisation, an allocation */
  PD_ACTIVITY_DRIVER = 2,  /* the same in the driver's interface */
  PD_ACTIVITY_KERNEL = 3,
  PD_ACTIVITY_MEMCPY = 4,
  PD_ACTIVITY_MEMSET = 5,
  PD_ACTIVITY_SYNC = 6,    /* the device's view of a synchronisation */
  PD_ACTIVITY_OVERHEAD = 7 /* the profiler's own work */
};

/* What a runtime or driver call does, whatever its name. */
typedef uint32_t pd_api_class;
enum {
  PD_API_OTHER = 0,
  PD_API_LAUNCH = 1,       /* exactly one device record follows, unless result != 0 */
  PD_API_MEMCPY = 2,       /* as for a launch */
  PD_API_MEMSET = 3,       /* as for a launch */
  PD_API_GRAPH_LAUNCH = 4, /* one or more device records follow */
  PD_API_SYNC = 5,         /* blocks the caller */
  PD_API_ALLOC = 6,
  PD_API_FREE = 7,
  PD_API_STREAM_WAIT = 8 /* makes a stream wait for an event, not the caller */
};

typedef uint32_t pd_memory_kind; /* of a copy's or memset's end: Kineto's words */
enum {
  PD_MEMORY_UNKNOWN = 0,
  PD_MEMORY_PAGEABLE = 1,
  PD_MEMORY_PINNED = 2,
  PD_MEMORY_DEVICE = 3,
  PD_MEMORY_MANAGED = 5
};

/* The number of a stream that the device does not know. For a synchronisation it means the whole context. */
#define PD_STREAM_UNKNOWN UINT32_MAX

typedef struct pd_activity {
  pd_activity_kind kind;
  uint32_t name;        /* string id: kernel (demangled), runtime call; for copies and sets the trace builds it */
  int64_t start, end;   /* in the clock given with the batch */
  uint64_t correlation; /* ties a runtime call to its device records; unique within a run */
  uint32_t device, context;
  uint32_t stream; /* or PD_STREAM_UNKNOWN */
  uint32_t thread; /* system thread id of a runtime or driver call, else 0 */
  uint64_t bytes;  /* copies and sets */
  union {
    struct {
      uint32_t cbid; /* CUPTI's callback id; 0 on other devices */
      pd_api_class api;
      int32_t result; /* 0 is success */
      uint32_t reserved;
    } api;
    struct {
      uint32_t grid[3], block[3];
      uint32_t registers;                   /* per thread */
      uint32_t static_bytes, dynamic_bytes; /* shared memory per block */
      uint32_t graph, graph_node;           /* 0: not from a graph */
      float blocks_per_sm, warps_per_sm;
      float occupancy;        /* estimated achieved, 0..1; < 0: unknown; from a reader, 0 too */
      float waves;            /* grid over the blocks that fit at once; < 0: unknown */
      uint32_t active_blocks; /* theoretical resident blocks per SM */
    } kernel;
    struct {
      pd_memory_kind from, to;
      uint32_t graph, graph_node;
    } copy; /* memset: `to` alone */
  } u;
} pd_activity;

/* A call on a host thread; else the device's. */
static inline bool pd_activity_is_call(const pd_activity *row) {
  return row->kind == PD_ACTIVITY_RUNTIME || row->kind == PD_ACTIVITY_DRIVER;
}
/* A kernel, a copy or a set. */
static inline bool pd_activity_is_work(const pd_activity *row) {
  return row->kind == PD_ACTIVITY_KERNEL || row->kind == PD_ACTIVITY_MEMCPY || row->kind == PD_ACTIVITY_MEMSET;
}

/* A device record may begin this much before its call, since the two clocks disagree: the trace moves it after the
 * call. A record that begins even earlier is implausible, and left out. CUPTI's map of the two clocks was off by up to
 * 11.5 us on H200s; this is some four times that. */
enum { PD_EARLY_NS = 50000 };

typedef uint32_t pd_clock;
enum {
  PD_CLOCK_REALTIME = 1, /* nanoseconds of CLOCK_REALTIME */
  PD_CLOCK_TICKS = 2     /* as pd_record.ticks() returns them: same source as the ranges, so nesting is exact */
};

typedef uint32_t pd_allocator; /* where memory came from */
enum {
  PD_ALLOCATOR_UNKNOWN = 0, /* another program's */
  PD_ALLOCATOR_POOL = 1,
  PD_ALLOCATOR_RAW = 2,
  PD_ALLOCATOR_CACHED = 3,
  PD_ALLOCATOR_PINNED = 4
};

/* One allocation (bytes > 0) or free (bytes < 0). */
typedef struct pd_memory_event {
  uint64_t address; /* 0: unknown, in an old trace of another program */
  int64_t bytes;    /* between -2^48 and 2^48: what is beyond is counted as IMPLAUSIBLE and left out */
  uint64_t total_allocated, total_reserved; /* after the event, of its device type */
  uint64_t duration_ticks;                  /* time in the allocator */
  uint32_t device_type;                     /* 0 host (by us: pinned), 1 device: torch's numbers */
  uint32_t device;
  uint32_t stream;
  pd_allocator allocator;
} pd_memory_event;

/* A loss, counted and shown in every output. X(name, value, text) */
#define PD_LOSS_MAP(X)                                                                                                 \
  X(RANGES_FULL, 0, "host ranges lost to a full buffer")                                                               \
  X(RECORDS_DROPPED, 1, "device records dropped by the profiling library")                                             \
  X(ZERO_TIMESTAMP, 2, "device records without a time")                                                                \
  X(IMPLAUSIBLE, 3, "records with an implausible time or size")                                                        \
  X(UNMATCHED_ACTIVITY, 4, "device records without a launch")                                                          \
  X(UNMATCHED_LAUNCH, 5, "launches without a device record")                                                           \
  X(CLOCK_STEP, 6, "steps of the system clock inside the window")                                                      \
  X(UNBALANCED, 7, "ranges left open or closed twice")                                                                 \
  X(MEMORY_FULL, 8, "memory events lost to a full buffer")                                                             \
  X(AMBIGUOUS, 9, "launches that no single operation holds")                                                           \
  X(TIME_CORRECTED, 10, "device records moved behind their launches") /* by clocks that disagree */
typedef uint32_t pd_loss;
enum {
#define PD_X(name, value, text) PD_LOSS_##name = value,
  PD_LOSS_MAP(PD_X)
#undef PD_X
      PD_LOSS_COUNT = 11
};

/* Everything one range carries beyond its name. Zero it and fill what is known. */
typedef struct pd_range_info {
  uint32_t size;
  pd_part part;
  uint64_t flops;                /* of the operation itself; 0: unknown or none */
  uint32_t sequence;             /* ties forward and backward of one operation; 0: none */
  uint32_t backward;             /* 1: this is the backward range of `sequence` */
  uint32_t shape_count;          /* inputs described below */
  uint32_t module;               /* string id of the module path ("SimpleCNN.conv1"); 0: none */
  const struct pd_shape *shapes; /* borrowed until the call returns; copied when profile.record_shapes is on */
} pd_range_info;

typedef struct pd_shape {
  uint32_t rank;  /* 0..4; 0 is a scalar */
  uint32_t dtype; /* PD_F32 ... of device.h */
  int64_t dims[4];
} pd_shape;

typedef struct pd_record pd_record;
struct pd_record {
  uint32_t size;
  uint32_t reserved;
  void *impl;
  /* Non-zero while ranges are wanted. Read it through pd_record_on(). */
  const uint32_t *enabled;

  /* The id of a string; the same bytes give the same id for the whole run. 0 is never returned for a string; on no
   * memory it returns the id of "(no memory)". [any thread] */
  uint32_t (*intern)(const pd_record *record, const char *text);

  /* Opens a range on this thread, closes the innermost one. Use pd_range_begin() and pd_range_end(). [any thread] */
  void (*begin)(const pd_record *record, uint32_t name, pd_range_kind kind, const pd_range_info *info);
  void (*end)(const pd_record *record);

  /* Raw ticks of the ranges' clock; convertible by the host alone. [any thread] */
  uint64_t (*ticks)(const pd_record *record);
  /* Nanoseconds of CLOCK_REALTIME. [any thread] */
  int64_t (*now_ns)(const pd_record *record);

  /* Hands over `count` records; they are copied. Accepted also while ranges are off: a record belongs to the window in
   * which its runtime call began. A device record begins after its call, or at most PD_EARLY_NS before it. [any
   * thread] */
  void (*activities)(const pd_record *record, pd_clock clock, const pd_activity *records, uint64_t count);

  /* One allocation or free, stamped now. [any thread] */
  void (*memory)(const pd_record *record, const pd_memory_event *event);

  /* One sample of a counter track ("DataLoader queue"), stamped now. `name` is a string id. [any thread] */
  void (*counter)(const pd_record *record, uint32_t name, double value);

  /* Adds to a loss count of the current window. [any thread] */
  void (*lost)(const pd_record *record, pd_loss loss, uint64_t count);

  /* Names the calling thread in the traces ("pdhost loader 0"), and for ps and top ("loader 0"), which have 15 bytes.
   * [any thread] */
  void (*name_thread)(const pd_record *record, const char *name);
};

static inline bool pd_record_on(const pd_record *record) {
#if defined(__GNUC__)
  return __atomic_load_n(record->enabled, __ATOMIC_RELAXED) != 0;
#else
  return *(const volatile uint32_t *)record->enabled != 0;
#endif
}

/* A call site's name, interned on first use. Declare it static; the cache needs no lock, since every thread would
 * store the same id. */
typedef struct pd_site {
  const char *text;
  uint32_t id;
  pd_range_kind kind;
} pd_site;
#define PD_SITE(text_, kind_)                                                                                          \
  { (text_), 0, (kind_) }

/* The string id of a site. [any thread] */
PD_INLINE uint32_t pd_site_id(const pd_record *record, pd_site *site) {
#if defined(__GNUC__)
  uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
  if (!id) {
    id = record->intern(record, site->text);
    __atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
  }
  return id;
#else
  return record->intern(record, site->text);
#endif
}

/* Opens a range; returns whether pd_range_end() must be called, so that a window that begins or ends in between does
 * no harm: always pass the result to pd_range_end(). `info` may be NULL. [any thread] */
PD_INLINE bool pd_range_begin(const pd_record *record, pd_site *site, const pd_range_info *info) {
  if (!pd_record_on(record)) return false;
  record->begin(record, pd_site_id(record, site), site->kind, info);
  return true;
}
static inline void pd_range_end(const pd_record *record, bool begun) {
  if (begun) record->end(record);
}

#ifdef __cplusplus
}
#endif
#endif
