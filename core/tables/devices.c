/* See devices.h. */
#include "devices.h"

static uint32_t add(uint32_t *devices, uint32_t count, uint32_t device) {
  for (uint32_t i = 0; i < count; i++)
    if (devices[i] == device) return count;
  if (count < DEVICES_MOST) devices[count++] = device;
  return count;
}

/* A stream may only have been waited for: a program synchronises with devices that it does not use. */
static bool works(const table_work *work, uint64_t stream) {
  const trace_facts *facts = work->facts;
  for (uint64_t i = 0; i < facts->activity_count; i++)
    if (facts_activity(facts, i)->stream == stream) return true;
  return false;
}

uint32_t devices_list(const table_work *work, uint32_t devices[DEVICES_MOST]) {
  const pd_trace *trace = work->facts->trace;
  const pd_device_props *own = trace->device ? trace->device : work->context->device;
  uint32_t count = 0;
  if (trace->profile != PD_PROFILE_FULL) return 0;
  for (uint64_t s = 0; s < trace->streams.count; s++)
    if (works(work, s)) count = add(devices, count, PD_AT(pd_stream_row, &trace->streams, s)->device);
  return own ? add(devices, count, own->index) : count;
}

const char *devices_name(const table_work *work, uint32_t device) {
  return arena_format(work->arena, "%s%u", work->is_cuda ? "GPU" : "Device ", device);
}

bool devices_is_only(const table_work *work, uint32_t device) {
  const pd_array *streams = &work->facts->trace->streams;
  return work->facts->one_device && (!streams->count || PD_AT(pd_stream_row, streams, 0)->device == device);
}
