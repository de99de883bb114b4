/*
 * The file of the window sink: one pd_trace as it lies in memory, for `pdhost score` and whoever analyses a window
 * again. It is read on the kind of machine that wrote it, by the same version or a later one. Rows are copied byte for
 * byte, and new members come only at their end: a row with a shorter stride has 0 in those it lacks, and a section that
 * an older version does not write is empty. A larger stride comes from a later version, and is refused.
 *
 * A pd_window_head, then `sections` times a pd_window_section followed by its `count` rows of `stride` bytes. Pointers
 * in rows mean nothing. Call stacks are left out.
 */
#ifndef PDHOST_WINDOW_FILE_H
#define PDHOST_WINDOW_FILE_H

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PD_WINDOW_MAGIC "PDWINDOW"
enum { PD_WINDOW_FORMAT = 1 };

typedef struct pd_window_head {
  char magic[8];
  uint32_t format, sections;
} pd_window_head;

typedef struct pd_window_section {
  uint32_t id; /* PD_WINDOW_* */
  uint32_t stride;
  uint64_t count;
} pd_window_section;

/* X(name, value, row). Texts are bytes: each text ends with a 0. */
#define PD_WINDOW_MAP(X)                                                                                               \
  X(TRACE, 1, pd_trace)                                                                                                \
  X(DEVICE, 2, pd_device_props)                                                                                        \
  X(RUN, 3, pd_window_run)                                                                                             \
  X(TEXTS, 4, char) /* as PD_WINDOW_TEXT_* */                                                                          \
  X(STRINGS, 5, char)                                                                                                  \
  X(THREADS, 6, pd_thread)                                                                                             \
  X(STREAMS, 7, pd_stream_row)                                                                                         \
  X(RANGES, 8, pd_range)                                                                                               \
  X(CALLS, 9, pd_call)                                                                                                 \
  X(ACTIVITIES, 10, pd_device_row)                                                                                     \
  X(ACTIVITIES_BY_CALL, 11, uint32_t)                                                                                  \
  X(OTHERS, 12, pd_other_row)                                                                                          \
  X(MEMORY, 13, pd_memory_row)                                                                                         \
  X(COUNTERS, 14, pd_counter_row)                                                                                      \
  X(STEPS, 15, pd_trace_step)                                                                                          \
  X(SHAPES, 16, pd_shape)                                                                                              \
  X(LOSS_ROWS, 17, pd_loss_row)                                                                                        \
  X(STATES, 18, pd_state_row)                                                                                          \
  X(CHILDREN, 19, pd_child_row)                                                                                        \
  X(CODE, 20, pd_code_row)
enum {
#define PD_X(name, value, row) PD_WINDOW_##name = value,
  PD_WINDOW_MAP(PD_X)
#undef PD_X
      PD_WINDOW_SECTION_END = 21
};

/* What a window's verdict depends on beside the trace. */
typedef struct pd_window_run {
  uint64_t seed;
  int64_t batch_size, num_workers;
  uint32_t has_fallback; /* 1: no GPU was found, so this ran on the CPU device */
  uint32_t cores;        /* that the process may use */
  uint32_t offers;       /* PD_OFFER_* */
  uint32_t reserved;
} pd_window_run;

/* Texts in their order; an absent one is empty. */
enum {
  PD_WINDOW_TEXT_SCENARIO = 0,
  PD_WINDOW_TEXT_BOTTLENECK = 1,
  PD_WINDOW_TEXT_COMMAND_LINE = 2,
  PD_WINDOW_TEXT_VERSION = 3,
  PD_WINDOW_TEXT_DEVICE = 4,
  PD_WINDOW_TEXT_DEVICE_VERSIONS = 5,
  PD_WINDOW_TEXT_FALLBACK = 6,
  PD_WINDOW_TEXT_PROFILE_NOTE = 7,
  PD_WINDOW_TEXT_CURES = 8,  /* one line for each: cause, a space, settings */
  PD_WINDOW_TEXT_ORIGIN = 9, /* pd_trace.origin */
  PD_WINDOW_TEXT_COUNT = 10
};

#ifdef __cplusplus
}
#endif
#endif
