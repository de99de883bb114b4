/* The recorder's own state, for the files of core/trace and their tests. */
#ifndef CORE_TRACE_RECORDER_INTERNAL_H
#define CORE_TRACE_RECORDER_INTERNAL_H

#include "loss_marks.h"
#include "threads.h"
#include "trace_memory.h"

struct recorder {
  pd_record table;
  uint64_t serial; /* of all recorders of the process, from 1: what a thread's cached state is checked against */
  trace_clock clock;
  recorder_options options;
  string_table *strings;
  chunk_pool pool;
  struct recorder *next_live;
  recorder_thread *threads; /* under the registry's lock */
  atomic_bool dead;         /* this process is a fork of the recorder's */

  /* the loop thread's */
  bool in_window;
  uint32_t window;
  uint32_t loop_tid;
  uint64_t begin_ticks;
  recorder_step *steps;
  uint64_t step_count, step_capacity;
  raw_call *calls; /* taken from the threads, for this window or a later one */
  uint64_t call_count;
  raw_device *devices;
  uint64_t device_count;
  uint64_t *earlier; /* correlation ids of calls before the window, whose device records may still come */
  uint64_t earlier_count;
  struct capture_writer *capture; /* NULL: windows are not saved */

  _Alignas(64) uint32_t enabled; /* read by every range of every thread */
  _Alignas(64) atomic_uint_fast64_t losses[PD_LOSS_COUNT];
  atomic_flag marking; /* of loss_marks */
  loss_marks marks;    /* where they were lost; in ticks */
};

/* recorder_open with a clock of the caller's. */
pd_status recorder_open_with_clock(const recorder_options *options, const clock_source *source, recorder **out);

/* Closes the calling thread's innermost range. */
void recorder_end_range(recorder *self, recorder_thread *thread);

/* Counts a loss and notes its place. [any thread; signal handlers too] */
void recorder_lost(recorder *self, pd_loss loss, uint64_t count);

/* Copies the places into `marks` (NULL: nowhere) and forgets them. */
void recorder_take_marks(recorder *self, loss_marks *marks);

/* Running indices are kept in 31 bits, plus 1, so that 0 is none. */
static inline uint32_t index_pack(uint64_t index) { return ((uint32_t)index & 0x7FFFFFFFU) + 1; }
static inline uint32_t index_unpack(uint32_t packed, uint64_t first) {
  return packed ? (packed - 1 - ((uint32_t)first & 0x7FFFFFFFU)) & 0x7FFFFFFFU : PD_NONE;
}

#endif
