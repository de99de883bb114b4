/*
 * The batch on the device: one buffer that every batch is copied to, and a copy per resident batch. [loop thread]
 *
 * A resident batch is handed out as it is; whoever writes to the images asks input_own() for memory first. The batch
 * after the current one may be copied ahead, on a stream of its own and into a second buffer.
 */
#ifndef CORE_TRAIN_INPUT_H
#define CORE_TRAIN_INPUT_H

#include "context.h"

#include <pdhost/scenario.h>

typedef struct input_resident {
  uint64_t number;
  pd_tensor images, labels;
} input_resident;

/* The batch after the current one, on its way to the device. */
typedef struct input_ahead {
  pd_stream *stream;  /* NULL until the first */
  pd_event *copied;   /* on `stream`, after the copy */
  pd_event *reusable; /* on the kit's stream, after the last use of the buffer */
  pd_tensor images, labels;
  uint64_t index;    /* which batch */
  const float *from; /* its images on the host; NULL: none is on its way */
} input_ahead;

typedef struct input {
  pd_tensor images, labels;         /* current: (N,3,H,W) float32 NCHW and (N) int64 */
  pd_tensor own_images, own_labels; /* the buffer; as large as the largest batch so far */
  input_resident *residents;
  uint64_t resident_count, resident_capacity;
  input_ahead ahead;
  bool fixed; /* always in the buffer, for a captured graph: a resident batch is copied there on the device */
} input;

void input_close(train_context *c, input *in);

/* Makes `batch` the current one: two copies, asynchronous when it is pinned; none for a resident batch seen before. */
pd_status input_take(train_context *c, input *in, const pd_batch *batch);

/* Begins to copy `batch`, which has to stay as it is until input_take() makes it the current one or input_forget().
 * For page-locked memory: from other memory the copy would hold up the host. After input_take(). */
pd_status input_fetch(train_context *c, input *in, const pd_batch *batch);

/* Waits for a copy on its way, which will not be taken. */
pd_status input_forget(train_context *c, input *in);

/* The device copy of a resident batch, ahead of its first step. */
pd_status input_keep(train_context *c, input *in, const pd_batch *batch);

/* Where new values of the images at `images` may be written: the same memory, or the buffer when that is a resident
 * batch's, which then becomes the current one. Other tensors are returned as they are. */
pd_status input_own(train_context *c, input *in, pd_tensor *images);

#endif
