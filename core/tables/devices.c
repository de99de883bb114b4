/* See devices.h. */
#include "devices.h"

static uint32_t add(uint32_t *devices, uint32_t count, uint32_t device) {
  for (uint32_t i = 0; i < count; i++)
    if (devices[i] == device) return count;
  if (count < DEVICES_MOST) devices[count++] = device;
  return count;
}

uint32_t devices_list(const table_work *work, uint32_t devices[DEVICES_MOST]) {
  const pd_trace *trace = work->facts->trace;
  uint32_t count = 0;
  if (trace->profile != PD_PROFILE_FULL) return 0;
  for (uint64_t s = 0; s < trace->streams.count; s++)
    count = add(devices, count, PD_AT(pd_stream_row, &trace->streams, s)->device);
  return work->context->device ? add(devices, count, work->context->device->index) : count;
}

const char *devices_name(const table_work *work, uint32_t device) {
  return arena_format(work->arena, "%s%u", work->is_cuda ? "GPU" : "Device ", device);
}

bool devices_is_only(const table_work *work, uint32_t device) {
  const pd_array *streams = &work->facts->trace->streams;
  return work->facts->one_device && (!streams->count || PD_AT(pd_stream_row, streams, 0)->device == device);
}
