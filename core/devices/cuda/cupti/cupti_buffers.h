/*
 * The record buffers that CUPTI fills: zeroed, faulted in beforehand, each with one owner at a time.
 *
 * cupti_buffers_take() and cupti_buffers_complete() run inside CUPTI's callbacks, on the program's own threads: they
 * take no lock, allocate from no heap and call nothing of CUPTI. All else is the collector's.
 */
#ifndef DEVICES_CUDA_CUPTI_BUFFERS_H
#define DEVICES_CUDA_CUPTI_BUFFERS_H

#include <pdhost/plugin.h>

#include <stdatomic.h>

enum { CUPTI_SMALL_BYTES = 256 << 10, CUPTI_LARGE_BYTES = 4 << 20 };

typedef enum cupti_buffer_state {
  CUPTI_BUFFER_NONE, /* not mapped yet */
  CUPTI_BUFFER_FREE,
  CUPTI_BUFFER_CUPTI,  /* the library writes to it */
  CUPTI_BUFFER_QUEUED, /* waits for the decoder */
  CUPTI_BUFFER_DECODING
} cupti_buffer_state;

typedef struct cupti_buffer {
  _Atomic(uint8_t *) data;
  size_t bytes;
  size_t valid_bytes;    /* set by its completion */
  _Atomic uint32_t next; /* slot + 1 of the next one in its list; 0: the last */
  _Atomic uint32_t state;
  _Atomic uint32_t session; /* in which attachment it was handed out, */
  _Atomic uint32_t epoch;   /* when, */
  _Atomic uint32_t thread;  /* and to whom */
} cupti_buffer;

typedef struct cupti_buffers {
  cupti_buffer *slots;
  uint32_t slot_count;
  uint32_t generation; /* tells pools apart in the threads' own counters */
  uint64_t max_bytes;
  int64_t fast_ns;       /* a thread that takes its next buffer within this time gets a large one */
  _Atomic uint32_t used; /* slots mapped or being mapped */
  _Atomic uint32_t free_small_count, free_large_count; /* may lag behind the lists */
  _Atomic uint64_t free_small, free_large; /* a counter against reuse in the upper half, slot + 1 in the lower */
  _Atomic uint32_t queue;                  /* slot + 1 of the newest completed one */
  _Atomic uint32_t session, epoch;         /* stamped on what is handed out */
  _Atomic uint64_t bytes;                  /* mapped */
  _Atomic uint64_t refused;                /* requests that got nothing */
} cupti_buffers;

/* Maps `small` and `large` buffers at once and at most max_bytes in all. */
pd_status cupti_buffers_open(cupti_buffers *self, uint64_t max_bytes, uint32_t small, uint32_t large);
/* Unmaps what CUPTI does not hold; returns whether that was all. What it holds stays mapped for good. */
bool cupti_buffers_close(cupti_buffers *self);

/* A zeroed buffer, aligned to a page, or NULL at the limit. A thread's first one is small, and so are those of a
 * thread that fills them slowly. [any thread] */
uint8_t *cupti_buffers_take(cupti_buffers *self, size_t *bytes);
/* Gives a buffer to the decoder. False where it was not CUPTI's. [any thread] */
bool cupti_buffers_complete(cupti_buffers *self, uint8_t *data, size_t valid_bytes);

/* All completed buffers in the order of completion, as a list by cupti_buffers_following(); NULL: none. */
cupti_buffer *cupti_buffers_pull(cupti_buffers *self);
cupti_buffer *cupti_buffers_following(cupti_buffers *self, const cupti_buffer *buffer);
/* Zeroes a decoded buffer and makes it free. Read its follower first. */
void cupti_buffers_release(cupti_buffers *self, cupti_buffer *buffer);

/* Whether the decoder should map more, so that there are some of each size for the next threads, and that. */
bool cupti_buffers_low(cupti_buffers *self);
void cupti_buffers_refill(cupti_buffers *self);

/* Buffers that CUPTI holds and that were handed out in this session up to `epoch`, and how many of them to `thread` and
 * to others: one count, since they may be given back meanwhile. What CUPTI held of another thread's when it was
 * detached it need not ever give back. */
typedef struct cupti_held {
  uint32_t own, others;
} cupti_held;
cupti_held cupti_buffers_held(cupti_buffers *self, uint32_t epoch, uint32_t thread);

#endif
