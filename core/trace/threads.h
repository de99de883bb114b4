/*
 * The recorder's threads: one state per thread that ever recorded, made on first use and written by its thread alone.
 *
 * The registry of all recorders is one lock, taken when a thread appears, when it ends and when the loop thread lists
 * them; never on the hot path. A thread's end closes its ranges. After fork the child's recorders are off for good.
 */
#ifndef CORE_TRACE_THREADS_H
#define CORE_TRACE_THREADS_H

#include "chunks.h"
#include "raw_window.h"

#include <stdatomic.h>

enum { THREAD_MAX_DEPTH = 256 };

/* An open range as its own thread writes it and the loop thread may read it: `start` is stored last when the range
 * opens and cleared first when it closes, so a reader that sees the same start twice has seen one range. */
typedef struct open_range {
  atomic_uint_fast64_t start; /* ticks; 0: none */
  atomic_uint_fast64_t name_kind;
  atomic_uint_fast64_t info_stack; /* running indices plus 1, of 31 bits each; 0: none */
} open_range;

typedef struct recorder_thread {
  struct recorder_thread *next; /* under the registry's lock */
  bool exited;                  /* the same */
  /* the thread's own */
  bool busy; /* inside the recorder: what a signal handler or an allocator's hook adds meanwhile is counted as lost */
  uint32_t depth;
  uint64_t last_ticks;
  uint32_t info_count, shape_count, stack_count; /* written ever: running indices */
  chunk_list ranges;
  chunk_list infos, shapes, stacks;
  chunk_list memory, counters;
  chunk_list calls, devices;
  open_range open[THREAD_MAX_DEPTH];
  uint32_t tid;
  atomic_uint name; /* string id */
} recorder_thread;

struct recorder;

/* The state the calling thread used last. Initial-exec: a plain load off the thread pointer. */
typedef struct thread_cache {
  uint64_t serial; /* of the recorder; 0: none */
  recorder_thread *thread;
  bool registering, interning; /* locks are held: a hook or signal handler must not come back in */
} thread_cache;
extern _Thread_local __attribute__((tls_model("initial-exec"))) thread_cache thread_current;

/* Makes the recorder known, so that threads that end and forks find it. */
pd_status threads_open(struct recorder *self);
/* Forgets it. */
void threads_close(struct recorder *self);

/* The calling thread's state, made if need be; NULL on no memory, in a forked child, and from within itself. */
recorder_thread *threads_current_slow(struct recorder *self);

/* All states, into a malloc'ed array. States that have ended are listed too, and taken out by threads_sweep. */
pd_status threads_list(struct recorder *self, recorder_thread ***out, uint64_t *count);
/* The states of threads that have ended and have nothing left to take become those of new threads. */
void threads_sweep(struct recorder *self);

#endif
