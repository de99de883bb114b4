/*
 * The recorder: takes ranges, activities, memory events and counters from any thread, and turns each active window
 * into a pd_trace.
 *
 * Ranges go to per-thread chunk lists that their thread alone writes: no lock and no allocation on the hot path. The
 * window functions below are the loop thread's.
 */
#ifndef CORE_TRACE_RECORDER_H
#define CORE_TRACE_RECORDER_H

#include <pdhost/trace.h>

typedef struct recorder recorder;

struct trace_room;

typedef struct recorder_options {
  uint64_t max_bytes; /* of buffers per window, [profile] max_memory; what does not fit is counted as lost */
  bool record_shapes;
  bool profile_memory;
  bool with_stack;
  struct trace_room *room; /* to work in, unused so far and borrowed until recorder_close; NULL: one of its own */
} recorder_options;

pd_status recorder_open(const recorder_options *options, recorder **out);
/* No thread may be inside a call of the recorder's. Traces stay valid: they own what they hold. */
void recorder_close(recorder *self);

/* The table behind PD_EXT_RECORD; valid until recorder_close. */
const pd_record *recorder_table(const recorder *self);

/* Turns ranges, memory events and counters on or off; off at first. Called at a window's first warm-up step and after
 * its last active one. Activities are taken whether on or off. */
void recorder_enable(recorder *self, bool on);

/* Begins window `window`: everything recorded before it is discarded but the ranges still open. */
pd_status recorder_window_begin(recorder *self, uint32_t window);

/* The name of a step's range in place of a string's id: with an id of its own each step would stay in the table. The
 * trace has the text, "ProfilerStep#N". */
#define RECORDER_STEP_NAME UINT32_C(0x80000000)
static inline uint32_t recorder_step_name(uint64_t number) {
  return RECORDER_STEP_NAME | (uint32_t)(number & (RECORDER_STEP_NAME - 1));
}

/* One active step is over; in order. Ticks as of pd_record.ticks(). A step begins where the one before ended. Where it
 * begins later, the window was paused: the time between is cut out of it, with all that began and ended there. */
typedef struct recorder_step {
  uint64_t number;
  uint64_t start_ticks, end_ticks;             /* end of the step before to end of this one */
  uint64_t train_start_ticks, train_end_ticks; /* t0, t1 */
  int64_t data_wait_ns, step_time_ns;
} recorder_step;
pd_status recorder_step_done(recorder *self, const recorder_step *step);

/* What the loop knows of a window at its end. */
typedef struct recorder_window {
  pd_profile_mode profile;
  bool sync_timing;
  const char *profile_note;                             /* borrowed by the trace */
  const pd_device_props *device;                        /* borrowed by the trace */
  const double *losses;                                 /* one per step done, or NULL: not read */
  uint64_t start_allocated_bytes, start_reserved_bytes; /* of device memory when it began */
  int64_t unprofiled_step_ns;                           /* as in pd_trace */
  pd_twin twin;                                         /* as in pd_trace */
  bool copies_ahead;
  int64_t paused_ns;          /* as in pd_trace */
  uint64_t graph_input_bytes; /* as in pd_trace */
  /* Is called when the window was written as recorder_save_to() has it, before it is merged; NULL: nothing waits for
   * that. True: it has to be written once more, for which the capture was changed. */
  bool (*saved)(void *user);
  void *user;
} recorder_window;

/* From now on each window that ends is written to `capture` before it is merged; NULL: none is. Borrowed. */
struct capture_writer;
void recorder_save_to(recorder *self, struct capture_writer *capture);

/* The share of its memory that is in use, from 0 to 1. */
double recorder_used(const recorder *self);

/* Ends the window and merges: sorts, nests, correlates. The device has been drained before. Ranges still open on other
 * threads are cut at the window's end. The caller frees the trace. */
pd_status recorder_window_end(recorder *self, const recorder_window *window, pd_trace **out);
void trace_free(pd_trace *trace);

#endif
