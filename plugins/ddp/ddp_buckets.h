/* The gradients of all ranks, averaged: they lie in buckets, in the order in which the backward pass writes them, and a
 * bucket is reduced on a stream of its own as soon as it is whole. [loop thread] */
#ifndef PLUGINS_DDP_BUCKETS_H
#define PLUGINS_DDP_BUCKETS_H

#include <pdhost/scenario_kit.h>

enum { DDP_PARAMETERS = 64 };

typedef struct ddp_bucket {
  float *data;
  uint64_t count;   /* of floats; each gradient begins at a multiple of 256 bytes, what lies between is 0 */
  uint32_t pending; /* gradients of it that the backward pass has not written yet */
  uint32_t members;
} ddp_bucket;

typedef struct ddp_buckets {
  const pd_kit *kit;
  const pd_device_access *access;
  pd_stream *stream;        /* of the communication */
  pd_event *written, *done; /* a bucket's gradients; the last bucket's reduction */
  ddp_bucket all[DDP_PARAMETERS];
  uint32_t bucket_of[DDP_PARAMETERS]; /* by parameter */
  uint32_t count;
  bool overlap; /* of the step in hand: while the backward pass goes on, else after it */
} ddp_buckets;

/* `most` bytes of a bucket, which a single gradient may exceed. On failure, with its message, close it all the same. */
pd_status ddp_buckets_open(ddp_buckets *self, const pd_kit *kit, uint64_t most);
/* All work of the device is done. */
void ddp_buckets_close(ddp_buckets *self);

/* Before and after a backward pass. The loop's stream then waits for the averages. */
void ddp_buckets_begin(ddp_buckets *self, bool overlap);
pd_status ddp_buckets_end(ddp_buckets *self);

#endif
