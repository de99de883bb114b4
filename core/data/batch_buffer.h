/* Memory for one batch: images and labels, page-locked or plain. */
#ifndef CORE_DATA_BATCH_BUFFER_H
#define CORE_DATA_BATCH_BUFFER_H

#include "loader.h"

typedef struct batch_buffer {
  void *memory;
  uint64_t bytes;
  float *images;    /* (batch_size,3,S,S) */
  int64_t *labels;  /* (batch_size) */
  pd_event *copied; /* recorded after the last copy from this memory; NULL: never */
  bool pinned;
  bool copying;       /* `copied` has not been waited for */
  int64_t dialled_ns; /* of making the batch: what io_sleep and cpu_us took */
  int64_t asked_ns;   /* what they were asked to take */
  int64_t delayed_ns; /* what data_loader_delay added */
} batch_buffer;

/* [loop thread] */
pd_status batch_buffer_open(const pd_host *host, const pd_device_access *device, const data_config *config,
                            batch_buffer *buffer);
void batch_buffer_close(const pd_device_access *device, batch_buffer *buffer);

/* The loop is done with the batch; the device may still be copying from page-locked memory. [loop thread] */
pd_status batch_buffer_release(const pd_device_access *device, batch_buffer *buffer);
/* Waits until the device has copied it, so that it may be written again. [loop or loader thread] */
pd_status batch_buffer_reclaim(const pd_device_access *device, batch_buffer *buffer);

#endif
