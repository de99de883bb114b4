/* See batch_buffer.h. */
#include "batch_buffer.h"

#include "dataset.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ALIGNMENT = 4096 };

pd_status batch_buffer_open(const pd_host *host, const pd_device_access *device, const data_config *config,
                            batch_buffer *buffer) {
  const uint64_t plane = (uint64_t)config->image_size * (uint64_t)config->image_size;
  uint64_t images = (uint64_t)config->batch_size * DATASET_CHANNELS * plane * sizeof(float);
  images = (images + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const uint64_t labels = (uint64_t)config->batch_size * sizeof(int64_t);
  *buffer =
      (batch_buffer){.pinned = config->pin_memory, .bytes = (images + labels + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};
  if (config->pin_memory) {
    const pd_status status = device->ops->memory->host_alloc(device->device, buffer->bytes, &buffer->memory);
    if (status != PD_OK) return status;
  } else {
    buffer->memory = aligned_alloc(ALIGNMENT, buffer->bytes);
    if (!buffer->memory)
      return host->fail(host, PD_NO_MEMORY, "[data]: no memory for a batch of %" PRIu64 " bytes: lower batch_size",
                        buffer->bytes);
  }
  buffer->images = buffer->memory;
  buffer->labels = (int64_t *)(void *)((char *)buffer->memory + images);
  return PD_OK;
}

void batch_buffer_close(const pd_device_access *device, batch_buffer *buffer) {
  if (!buffer->memory) return;
  /* A failure here is the device's own and has been reported where it happened. */
  (void)batch_buffer_reclaim(device, buffer);
  if (buffer->copied) device->ops->stream->event_destroy(device->device, buffer->copied);
  if (buffer->pinned)
    (void)device->ops->memory->host_free(device->device, buffer->bytes, buffer->memory);
  else
    free(buffer->memory);
  *buffer = (batch_buffer){0};
}

pd_status batch_buffer_release(const pd_device_access *device, batch_buffer *buffer) {
  if (!buffer->pinned) return PD_OK; /* the copy was over when it returned */
  pd_status status = PD_OK;
  if (!buffer->copied) status = device->ops->stream->event_create(device->device, &buffer->copied);
  if (status == PD_OK) status = device->ops->stream->event_record(device->device, device->stream, buffer->copied);
  buffer->copying = status == PD_OK;
  return status;
}

pd_status batch_buffer_reclaim(const pd_device_access *device, batch_buffer *buffer) {
  if (!buffer->copying) return PD_OK;
  buffer->copying = false;
  return device->ops->stream->event_synchronize(device->device, buffer->copied);
}
