/* Device and page-locked memory of the CPU device, and copies between them. */
#include "cpu_device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#define ALIGNMENT 256

/* A block of the pool's free list or of page-locked memory. */
struct cpu_block {
  cpu_block *next;
  void *data;
  uint64_t bytes;
};

static uint64_t rounded(uint64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static pd_status no_memory(const pd_device *device, uint64_t bytes) {
  struct sysinfo info = {0};
  sysinfo(&info);
  return device->host->fail(device->host, PD_NO_MEMORY,
                            "no memory: %llu bytes asked, %llu free of %llu: lower batch_size or image_size",
                            (unsigned long long)bytes, (unsigned long long)info.freeram * info.mem_unit,
                            (unsigned long long)device->total_bytes);
}

/* `device->lock` is held. */
static void tell(const pd_device *device, const void *data, int64_t bytes, bool on_device, pd_stream *stream,
                 pd_allocator allocator, uint64_t start) {
  if (!atomic_load_explicit(&device->profile_memory, memory_order_relaxed)) return;
  if (!device->record || !pd_record_on(device->record)) return;
  const pd_memory_event event = {.address = (uint64_t)(uintptr_t)data,
                                 .bytes = bytes,
                                 .total_allocated = on_device ? device->allocated : device->pinned_bytes,
                                 .total_reserved = on_device ? device->reserved : device->pinned_bytes,
                                 .duration_ticks = device->record->ticks(device->record) - start,
                                 .device_type = on_device,
                                 .stream = stream ? stream->id : 0,
                                 .allocator = allocator};
  device->record->memory(device->record, &event);
}

static void end_call(pd_device *device, pd_site *call, pd_api_class api, uint64_t began) {
  if (began) cpu_call_end(device, call, api, atomic_fetch_add(&device->correlation, 1) + 1, began);
}

static uint64_t ticks(const pd_device *device) { return device->record ? device->record->ticks(device->record) : 0; }

/* A free block of exactly this size, unlinked, or NULL. */
static void *pool_take(pd_device *device, uint64_t bytes) {
  for (cpu_block **at = &device->idle; *at; at = &(*at)->next)
    if ((*at)->bytes == bytes) {
      cpu_block *block = *at;
      void *data = block->data;
      *at = block->next;
      free(block);
      return data;
    }
  return NULL;
}

static void pool_trim(pd_device *device) {
  while (device->idle) {
    cpu_block *block = device->idle;
    device->idle = block->next;
    device->reserved -= block->bytes;
    free(block->data);
    free(block);
  }
}

void cpu_memory_release(pd_device *device) { pool_trim(device); }

static pd_status device_alloc(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                              void **out) {
  static pd_site call = PD_SITE("pdMalloc", 0);
  *out = NULL;
  if (!bytes) return PD_OK;
  const uint64_t start = ticks(device), began = cpu_call_begin(device), room = rounded(bytes);
  pthread_mutex_lock(&device->lock);
  void *data = allocator == PD_ALLOCATOR_RAW ? NULL : pool_take(device, room);
  /* The system may promise more than there is, and end the process when it is used. */
  if (!data && room >= bytes && room <= device->total_bytes) {
    data = aligned_alloc(ALIGNMENT, room);
    if (!data) {
      pool_trim(device);
      data = aligned_alloc(ALIGNMENT, room);
    }
    if (data) device->reserved += room;
  }
  if (data) {
    device->allocated += room;
    if (device->allocated > device->peak_allocated) device->peak_allocated = device->allocated;
    tell(device, data, (int64_t)room, true, stream, allocator, start);
  }
  pthread_mutex_unlock(&device->lock);
  if (!data) return no_memory(device, bytes);
  end_call(device, &call, PD_API_ALLOC, began);
  *out = data;
  return PD_OK;
}

typedef struct free_arguments {
  pd_device *device;
  void *data;
  uint64_t bytes;
  pd_allocator allocator;
} free_arguments;

/* In stream order: what was launched before may still use the block. */
static pd_status run_free(pd_stream *stream, void *arguments) {
  (void)stream;
  const free_arguments *given = arguments;
  pd_device *device = given->device;
  cpu_block *block = given->allocator == PD_ALLOCATOR_RAW ? NULL : malloc(sizeof *block);
  pthread_mutex_lock(&device->lock);
  if (block) {
    *block = (cpu_block){device->idle, given->data, given->bytes};
    device->idle = block;
  } else {
    device->reserved -= given->bytes;
    free(given->data);
  }
  pthread_mutex_unlock(&device->lock);
  return PD_OK;
}

static pd_status device_free(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void *data) {
  static pd_site call = PD_SITE("pdFree", 0);
  if (!data) return PD_OK;
  const uint64_t start = ticks(device), began = cpu_call_begin(device), room = rounded(bytes);
  const free_arguments given = {device, data, room, allocator};
  pd_status status = PD_OK;
  /* The plain allocator waits for the device, as cudaFree does. */
  const launch how = {.wait = allocator == PD_ALLOCATOR_RAW, .always = true};
  if (stream) status = cpu_stream_launch(stream, &how, run_free, &given, sizeof given);
  pthread_mutex_lock(&device->lock);
  device->allocated -= room;
  tell(device, data, -(int64_t)room, true, stream, allocator, start);
  pthread_mutex_unlock(&device->lock);
  if (!stream) status = run_free(NULL, &(free_arguments){device, data, room, allocator});
  end_call(device, &call, PD_API_FREE, began);
  return status;
}

static pd_status host_alloc(pd_device *device, uint64_t bytes, void **out) {
  static pd_site call = PD_SITE("pdMallocHost", 0);
  *out = NULL;
  if (!bytes) return PD_OK;
  const uint64_t start = ticks(device), began = cpu_call_begin(device), room = rounded(bytes);
  cpu_block *block = malloc(sizeof *block);
  void *data = block && room >= bytes && room <= device->total_bytes ? aligned_alloc(ALIGNMENT, room) : NULL;
  if (!data) {
    free(block);
    return no_memory(device, bytes);
  }
  pthread_mutex_lock(&device->lock);
  *block = (cpu_block){device->pinned, data, room};
  device->pinned = block;
  device->pinned_bytes += room;
  tell(device, data, (int64_t)room, false, NULL, PD_ALLOCATOR_PINNED, start);
  pthread_mutex_unlock(&device->lock);
  end_call(device, &call, PD_API_ALLOC, began);
  *out = data;
  return PD_OK;
}

static pd_status host_free(pd_device *device, uint64_t bytes, void *data) {
  static pd_site call = PD_SITE("pdFreeHost", 0);
  (void)bytes;
  if (!data) return PD_OK;
  const uint64_t start = ticks(device), began = cpu_call_begin(device);
  cpu_block *found = NULL;
  pthread_mutex_lock(&device->lock);
  for (cpu_block **at = &device->pinned; *at; at = &(*at)->next)
    if ((*at)->data == data) {
      found = *at;
      *at = found->next;
      device->pinned_bytes -= found->bytes;
      tell(device, data, -(int64_t)found->bytes, false, NULL, PD_ALLOCATOR_PINNED, start);
      break;
    }
  pthread_mutex_unlock(&device->lock);
  if (!found) return device->host->fail(device->host, PD_INVALID, "host_free of memory that host_alloc did not give");
  free(found->data);
  free(found);
  end_call(device, &call, PD_API_FREE, began);
  return PD_OK;
}

/* Whether [data, data+bytes) lies in page-locked memory. */
static bool memory_is_pinned(pd_device *device, const void *data, uint64_t bytes) {
  const uintptr_t first = (uintptr_t)data;
  bool found = false;
  pthread_mutex_lock(&device->lock);
  for (const cpu_block *block = device->pinned; block && !found; block = block->next) {
    const uintptr_t start = (uintptr_t)block->data;
    found = first >= start && first + bytes <= start + block->bytes;
  }
  pthread_mutex_unlock(&device->lock);
  return found;
}

static pd_status usage(pd_device *device, uint64_t *allocated, uint64_t *reserved, uint64_t *peak_allocated) {
  pthread_mutex_lock(&device->lock);
  *allocated = device->allocated;
  *reserved = device->reserved;
  *peak_allocated = device->peak_allocated;
  pthread_mutex_unlock(&device->lock);
  return PD_OK;
}

static pd_status trim(pd_device *device, uint64_t peak_allocated) {
  pthread_mutex_lock(&device->lock);
  pool_trim(device);
  device->peak_allocated = peak_allocated > device->allocated ? peak_allocated : device->allocated;
  pthread_mutex_unlock(&device->lock);
  return PD_OK;
}

typedef struct copy_arguments {
  void *to;
  const void *from;
  uint64_t bytes;
} copy_arguments;

static pd_status run_copy(pd_stream *stream, void *arguments) {
  (void)stream;
  const copy_arguments *copy = arguments;
  memcpy(copy->to, copy->from, copy->bytes);
  return PD_OK;
}

static pd_status copy(pd_device *device, pd_stream *stream, void *to, const void *from, uint64_t bytes,
                      pd_copy_kind kind) {
  static pd_site call = PD_SITE("pdMemcpyAsync", 0);
  const copy_arguments arguments = {to, from, bytes};
  launch how = {
      .call = &call,
      .api = PD_API_MEMCPY,
      .record = {.kind = PD_ACTIVITY_MEMCPY, .from = PD_MEMORY_DEVICE, .to = PD_MEMORY_DEVICE, .bytes = bytes}};
  if (!bytes) return PD_OK;
  if (kind == PD_COPY_HOST_TO_DEVICE)
    how.record.from = memory_is_pinned(device, from, bytes) ? PD_MEMORY_PINNED : PD_MEMORY_PAGEABLE;
  else if (kind == PD_COPY_DEVICE_TO_HOST)
    how.record.to = memory_is_pinned(device, to, bytes) ? PD_MEMORY_PINNED : PD_MEMORY_PAGEABLE;
  else if (kind != PD_COPY_DEVICE_TO_DEVICE)
    return device->host->fail(device->host, PD_INVALID, "copy: kind %u is none", kind);
  how.wait = how.record.from == PD_MEMORY_PAGEABLE || how.record.to == PD_MEMORY_PAGEABLE;
  return cpu_stream_launch(stream, &how, run_copy, &arguments, sizeof arguments);
}

const pd_memory_ops cpu_memory_ops = {.size = sizeof(pd_memory_ops),
                                      .alloc = device_alloc,
                                      .free = device_free,
                                      .host_alloc = host_alloc,
                                      .host_free = host_free,
                                      .usage = usage,
                                      .copy = copy,
                                      .trim = trim};
