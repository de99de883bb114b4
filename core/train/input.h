/*
 * The batch on the device: one buffer that every batch is copied to, and a copy per resident batch. [loop thread]
 *
 * A resident batch is handed out as it is; whoever writes to the images asks input_own() for memory first.
 */
#ifndef CORE_TRAIN_INPUT_H
#define CORE_TRAIN_INPUT_H

#include "context.h"

#include <pdhost/scenario.h>

typedef struct input_resident {
  uint64_t number;
  pd_tensor images, labels;
} input_resident;

typedef struct input {
  pd_tensor images, labels;         /* current: (N,3,H,W) float32 NCHW and (N) int64 */
  pd_tensor own_images, own_labels; /* the buffer; as large as the largest batch so far */
  input_resident *residents;
  uint64_t resident_count, resident_capacity;
  bool fixed; /* always in the buffer, for a captured graph: a resident batch is copied there on the device */
} input;

void input_close(train_context *c, input *in);

/* Makes `batch` the current one: two copies, asynchronous when it is pinned; none for a resident batch seen before. */
pd_status input_take(train_context *c, input *in, const pd_batch *batch);

/* The device copy of a resident batch, ahead of its first step. */
pd_status input_keep(train_context *c, input *in, const pd_batch *batch);

/* Where new values of the images at `images` may be written: the same memory, or the buffer when that is a resident
 * batch's, which then becomes the current one. Other tensors are returned as they are. */
pd_status input_own(train_context *c, input *in, pd_tensor *images);

#endif
