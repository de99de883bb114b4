/* The recorder's own state, for the files of core/trace and their tests. */
#ifndef CORE_TRACE_RECORDER_INTERNAL_H
#define CORE_TRACE_RECORDER_INTERNAL_H

#include "kept/room.h"
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
  trace_room *room;
  bool owns_room;
  recorder_thread *spare; /* states that no thread has; under the registry's lock */
  atomic_bool dead;       /* this process is a fork of the recorder's */

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
  uint64_t earlier_count, earlier_room;
  struct capture_writer *capture; /* NULL: windows are not saved */

  _Alignas(64) uint32_t enabled; /* read by every range of every thread */
};

/* recorder_open with a clock of the caller's. */
pd_status recorder_open_with_clock(const recorder_options *options, const clock_source *source, recorder **out);

/* Counts a loss and notes its place. [any thread; signal handlers too] */
void recorder_lost(recorder *self, pd_loss loss, uint64_t count);

/* Copies the places into `marks` (NULL: nowhere) and forgets them. */
void recorder_take_marks(recorder *self, loss_marks *marks);

/* A thread's ticks never run backwards, whatever processor it moved to: nesting depends on it. */
static inline uint64_t recorder_stamp(const recorder *self, recorder_thread *thread) {
  uint64_t now = trace_clock_ticks(&self->clock);
  if (now < thread->last_ticks) now = thread->last_ticks;
  thread->last_ticks = now;
  return now;
}

/* Closes the calling thread's innermost range. */
static inline void recorder_end_range(recorder *self, recorder_thread *thread) {
  if (!thread->depth) {
    recorder_lost(self, PD_LOSS_UNBALANCED, 1);
    return;
  }
  uint32_t depth = --thread->depth;
  if (depth >= THREAD_MAX_DEPTH) return;
  open_range *open = &thread->open[depth];
  raw_range *range = chunk_list_reserve(&thread->ranges, sizeof *range);
  if (range) {
    uint64_t name_kind = atomic_load_explicit(&open->name_kind, memory_order_relaxed);
    uint64_t info_stack = atomic_load_explicit(&open->info_stack, memory_order_relaxed);
    range->start = atomic_load_explicit(&open->start, memory_order_relaxed);
    range->end = recorder_stamp(self, thread);
    range->name = (uint32_t)(name_kind >> 32);
    range->kind = (uint16_t)name_kind;
    range->depth = (uint16_t)depth;
    range->info = (uint32_t)(info_stack >> 32);
    range->stack = (uint32_t)info_stack;
    chunk_list_publish(&thread->ranges);
  } else {
    recorder_lost(self, PD_LOSS_RANGES_FULL, 1);
  }
  /* Only now: the loop thread, which looks at open ranges first and at finished ones then, sees it in one of them. */
  atomic_store_explicit(&open->start, 0, memory_order_release);
}

/* Running indices are kept in 31 bits, plus 1, so that 0 is none. */
static inline uint32_t index_pack(uint64_t index) { return ((uint32_t)index & 0x7FFFFFFFU) + 1; }
static inline uint32_t index_unpack(uint32_t packed, uint64_t first) {
  return packed ? (packed - 1 - ((uint32_t)first & 0x7FFFFFFFU)) & 0x7FFFFFFFU : PD_NONE;
}

#endif
