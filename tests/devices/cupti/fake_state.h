/* What the parts of the fake CUPTI share: fake_cupti.c has CUPTI's functions, fake_buffers.c the buffers that the
 * product hands out, fake_work.c what a program does with CUDA. */
#ifndef TESTS_FAKE_STATE_H
#define TESTS_FAKE_STATE_H

#include "fake_cupti.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <time.h>
#include <unistd.h>

typedef struct fake_buffer {
  uint8_t *data;
  size_t bytes, used;
  uint32_t running; /* kernels not finished */
  bool full;
  bool kept, lost; /* until the next session, for good */
  struct fake_buffer *next;
  pthread_t owner;
} fake_buffer;

typedef struct fake_running {
  CUpti_ActivityKernel10 *record;
  fake_buffer *buffer;
} fake_running;

typedef struct fake_state {
  pthread_mutex_t lock; /* the library's own */
  fake_config config;
  fake_counts counts;
  fake_buffer *buffers;
  fake_running running[FAKE_KERNEL_SLOTS];
  uint32_t running_count, correlation, sessions_on;
  bool runtime_call[2048], driver_call[2048];
  CUpti_BuffersCallbackRequestFunc on_request;
  CUpti_BuffersCallbackCompleteFunc on_complete;
  CUpti_CallbackFunc on_state;
  void *state_user;
  bool subscribed, per_thread_set, zeroed_set, finalizing;
  pthread_t deliverers[256];
  uint32_t deliverer_count;
  pid_t subscriber_tid;
  uint32_t stuck_id; /* 0: none */
  pthread_t stuck_thread;
} fake_state;

#pragma GCC visibility push(hidden)

extern fake_state fake;
extern _Thread_local bool fake_inside; /* a callback of the product's */

static inline uint64_t fake_now(void) { return (uint64_t)pd_clock_ns(CLOCK_REALTIME); }

/* The length of a record; 0: of a kind that the fake does not write. */
size_t fake_bytes_of(CUpti_ActivityKind kind);
/* A new record in the calling thread's buffer, and that buffer; NULL where none was given. [lock held] */
void *fake_put(CUpti_ActivityKind kind, fake_buffer **into);
/* Hands the buffers over; `forced`: also those with running kernels. [lock held] */
void fake_flush(bool forced);

#pragma GCC visibility pop

#endif
