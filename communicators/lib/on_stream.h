/* What a communicator over host memory does on a stream. */
#ifndef COMMUNICATORS_LIB_ON_STREAM_H
#define COMMUNICATORS_LIB_ON_STREAM_H

#include <pdhost/communicator.h>

/* An all-reduce that waits for its turn on a stream. */
typedef struct reduction {
  pd_communicator *self;
  float *data;
  uint64_t count;
  pd_reduce how;
} reduction;

/* Has the device of the run call `reduce` with a copy of `of` when it is its turn on the stream. PD_UNSUPPORTED, in
 * words after `name`, on a device whose memory is not the host's. [loop thread] */
pd_status on_stream_reduce(const pd_host *host, const char *name, pd_stream *stream, pd_site *site,
                           pd_host_kernel reduce, const reduction *of);

#endif
