/* Device and page-locked memory, copies, and the figures of both. Any thread. */
#include "cuda_error.h"

#include <inttypes.h>

static uint64_t pool_reserved(pd_device *device) {
  uint64_t reserved = 0;
  if (cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrReservedMemCurrent, &reserved) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return reserved + atomic_load_explicit(&device->raw, memory_order_relaxed);
}

static uint64_t add_bytes(atomic_uint_least64_t *total, atomic_uint_least64_t *peak, uint64_t bytes) {
  const uint64_t now = atomic_fetch_add_explicit(total, bytes, memory_order_relaxed) + bytes;
  if (peak) {
    uint64_t top = atomic_load_explicit(peak, memory_order_relaxed);
    while (top < now &&
           !atomic_compare_exchange_weak_explicit(peak, &top, now, memory_order_relaxed, memory_order_relaxed)) {}
  }
  return now;
}

static bool is_reported(const pd_device *device) {
  return device->record && atomic_load_explicit(&device->profile_memory, memory_order_relaxed) &&
         pd_record_on(device->record);
}

/* `ticks` is the allocator's start; `bytes` < 0 for a free. */
static void report(pd_device *device, pd_allocator allocator, const void *data, int64_t bytes, uint64_t total,
                   uint64_t ticks) {
  const pd_record *record = device->record;
  if (!is_reported(device)) return;
  const bool pinned = allocator == PD_ALLOCATOR_PINNED;
  record->memory(record, &(pd_memory_event){.address = (uint64_t)(uintptr_t)data,
                                            .bytes = bytes,
                                            .total_allocated = total,
                                            .total_reserved = pinned ? total : pool_reserved(device),
                                            .duration_ticks = ticks ? record->ticks(record) - ticks : 0,
                                            .device_type = pinned ? 0 : 1,
                                            .device = (uint32_t)device->index,
                                            .allocator = allocator});
}
/* 0: not recorded; when another thread switches the recorder on meanwhile, the call's duration is not known. */
static uint64_t start_ticks(const pd_device *device) {
  return is_reported(device) ? device->record->ticks(device->record) : 0;
}

/* The plain allocator needs no stream. */
static bool is_capturing(const pd_stream *stream) { return stream && stream->capturing; }

static cudaError_t trim_pool(pd_device *device, const pd_stream *stream) {
  const cudaError_t error = stream ? cudaStreamSynchronize(stream->handle) : cudaDeviceSynchronize();
  return error ? error : cudaMemPoolTrimTo(device->pool, 0);
}

cudaError_t cuda_allocate(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void **out) {
  for (bool trimmed = false;; trimmed = true) {
    cudaError_t error =
        allocator == PD_ALLOCATOR_RAW ? cudaMalloc(out, bytes) : cudaMallocAsync(out, bytes, stream->handle);
    if (error != cudaErrorMemoryAllocation || trimmed || is_capturing(stream)) return error;
    (void)cudaGetLastError();
    error = trim_pool(device, stream);
    if (error != cudaSuccess) return error;
  }
}

static pd_status memory_alloc(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                              void **out) {
  *out = NULL;
  if (!bytes) return PD_OK;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  const uint64_t ticks = start_ticks(device);
  const cudaError_t error = cuda_allocate(device, stream, allocator, bytes, out);
  if (error == cudaErrorMemoryAllocation) {
    *out = NULL;
    return cuda_no_memory(device, bytes, allocator == PD_ALLOCATOR_RAW ? "cudaMalloc" : "cudaMallocAsync");
  }
  if (error != cudaSuccess) {
    *out = NULL;
    return cuda_failed(device, error, "allocation of device memory");
  }
  if (allocator == PD_ALLOCATOR_RAW) add_bytes(&device->raw, NULL, bytes);
  report(device, allocator, *out, (int64_t)bytes, add_bytes(&device->allocated, &device->peak, bytes), ticks);
  return PD_OK;
}

static pd_status memory_free(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void *data) {
  if (!data) return PD_OK;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  const uint64_t ticks = start_ticks(device);
  status = cuda_check(device, allocator == PD_ALLOCATOR_RAW ? cudaFree(data) : cudaFreeAsync(data, stream->handle),
                      "freeing device memory");
  if (status != PD_OK) return status;
  if (allocator == PD_ALLOCATOR_RAW) atomic_fetch_sub_explicit(&device->raw, bytes, memory_order_relaxed);
  report(device, allocator, data, -(int64_t)bytes,
         atomic_fetch_sub_explicit(&device->allocated, bytes, memory_order_relaxed) - bytes, ticks);
  return PD_OK;
}

static pd_status host_alloc(pd_device *device, uint64_t bytes, void **out) {
  *out = NULL;
  if (!bytes) return PD_OK;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  const uint64_t ticks = start_ticks(device);
  const cudaError_t error = cudaHostAlloc(out, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    *out = NULL;
    return device->host->fail(device->host, PD_NO_MEMORY,
                              "CUDA: cudaHostAlloc: %" PRIu64 " bytes of page-locked memory", bytes);
  }
  if (error != cudaSuccess) {
    *out = NULL;
    return cuda_failed(device, error, "cudaHostAlloc");
  }
  report(device, PD_ALLOCATOR_PINNED, *out, (int64_t)bytes, add_bytes(&device->pinned, NULL, bytes), ticks);
  return PD_OK;
}

static pd_status host_free(pd_device *device, uint64_t bytes, void *data) {
  if (!data) return PD_OK;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  const uint64_t ticks = start_ticks(device);
  status = cuda_check(device, cudaFreeHost(data), "cudaFreeHost");
  if (status != PD_OK) return status;
  report(device, PD_ALLOCATOR_PINNED, data, -(int64_t)bytes,
         atomic_fetch_sub_explicit(&device->pinned, bytes, memory_order_relaxed) - bytes, ticks);
  return PD_OK;
}

static pd_status usage(pd_device *device, uint64_t *allocated, uint64_t *reserved, uint64_t *peak) {
  *allocated = atomic_load_explicit(&device->allocated, memory_order_relaxed);
  *peak = atomic_load_explicit(&device->peak, memory_order_relaxed);
  *reserved = pool_reserved(device);
  return PD_OK;
}

static pd_status trim(pd_device *device, uint64_t peak_allocated) {
  pd_status status = cuda_bind(device);
  if (status == PD_OK) status = cuda_check(device, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  if (status == PD_OK) status = cuda_check(device, cudaMemPoolTrimTo(device->pool, 0), "cudaMemPoolTrimTo");
  if (status != PD_OK) return status;
  const uint64_t now = atomic_load_explicit(&device->allocated, memory_order_relaxed);
  atomic_store_explicit(&device->peak, peak_allocated > now ? peak_allocated : now, memory_order_relaxed);
  return PD_OK;
}

static pd_status copy(pd_device *device, pd_stream *stream, void *to, const void *from, uint64_t bytes,
                      pd_copy_kind kind) {
  if (!bytes) return PD_OK;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  const enum cudaMemcpyKind direction = kind == PD_COPY_HOST_TO_DEVICE   ? cudaMemcpyHostToDevice
                                        : kind == PD_COPY_DEVICE_TO_HOST ? cudaMemcpyDeviceToHost
                                                                         : cudaMemcpyDeviceToDevice;
  return cuda_check(device, cudaMemcpyAsync(to, from, bytes, direction, stream->handle), "cudaMemcpyAsync");
}

const pd_memory_ops cuda_memory_ops = {.size = sizeof(pd_memory_ops),
                                       .alloc = memory_alloc,
                                       .free = memory_free,
                                       .host_alloc = host_alloc,
                                       .host_free = host_free,
                                       .usage = usage,
                                       .copy = copy,
                                       .trim = trim};
