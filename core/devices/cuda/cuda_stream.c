/* Streams and events. Any thread. */
#include "cuda_error.h"

#include <stdlib.h>

static void stream_destroy(pd_device *device, pd_stream *stream) {
  if (!stream || cuda_bind(device) != PD_OK) return;
  if (stream->handle) {
    cudaStreamSynchronize(stream->handle);
    pthread_mutex_lock(&device->lock);
    /* No handle may keep a stream that is gone. */
    if (device->cudnn_stream == stream) {
      device->libraries.cudnn.SetStream(device->cudnn, NULL);
      device->cudnn_stream = NULL;
    }
    cuda_blas_leave(device, stream);
    if (device->first_stream == stream) device->first_stream = NULL;
    pthread_mutex_unlock(&device->lock);
    cudaStreamDestroy(stream->handle);
  }
  cudaFree(stream->scratch);
  cudaFree(stream->workspace);
  while (stream->retired) {
    cuda_retired *old = stream->retired;
    stream->retired = old->next;
    cudaFree(old->workspace);
    free(old);
  }
  free(stream);
}

static pd_status stream_create(pd_device *device, pd_stream **out) {
  const size_t counters = CUDA_COUNTERS * sizeof(uint32_t), partials = CUDA_PARTIALS * sizeof(float);
  *out = NULL;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  pd_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return device->host->fail(device->host, PD_NO_MEMORY, "cuda: no memory for a stream");
  status = cuda_check(device, cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking), "cudaStreamCreate");
  if (status == PD_OK)
    status = cuda_check(device, cudaMalloc(&stream->scratch, counters + partials), "scratch of a stream");
  if (status == PD_OK)
    status = cuda_check(device, cudaMemsetAsync(stream->scratch, 0, counters, stream->handle), "scratch of a stream");
  if (status != PD_OK) {
    stream_destroy(device, stream);
    return status;
  }
  stream->launch = (cuda_launch){.stream = stream->handle,
                                 .counters = stream->scratch,
                                 .partials = (float *)(void *)((char *)stream->scratch + counters),
                                 .sm_count = device->sm_count};
  pthread_mutex_lock(&device->lock);
  if (!device->first_stream) device->first_stream = stream;
  pthread_mutex_unlock(&device->lock);
  *out = stream;
  return PD_OK;
}

/* Frees the workspace, or keeps it where a graph's next replay may write to it. */
static bool drop_workspace(pd_stream *stream) {
  if (stream->workspace && stream->captured) {
    cuda_retired *old = malloc(sizeof *old);
    if (!old) return false;
    *old = (cuda_retired){.next = stream->retired, .workspace = stream->workspace};
    stream->retired = old;
  } else {
    cudaFree(stream->workspace);
  }
  stream->workspace = NULL;
  stream->workspace_bytes = 0;
  return true;
}

cudaError_t cuda_workspace_grow(pd_device *device, pd_stream *stream, uint64_t bytes) {
  if (bytes <= stream->workspace_bytes) return cudaSuccess;
  if (stream->capturing) return cudaErrorStreamCaptureUnsupported;
  cudaError_t error = cudaStreamSynchronize(stream->handle);
  if (!error && !drop_workspace(stream)) error = cudaErrorMemoryAllocation;
  if (error == cudaSuccess) error = cuda_allocate(device, stream, PD_ALLOCATOR_RAW, bytes, &stream->workspace);
  if (error == cudaSuccess)
    stream->workspace_bytes = bytes;
  else
    (void)cudaGetLastError();
  return error;
}

pd_status cuda_workspace(pd_device *device, pd_stream *stream, uint64_t bytes) {
  const cudaError_t error = cuda_workspace_grow(device, stream, bytes);
  if (error == cudaErrorStreamCaptureUnsupported)
    return device->host->fail(device->host, PD_INVALID,
                              "cuda: an operation needs %llu bytes of workspace inside a capture and the stream has "
                              "%llu: run the same operations once before they are captured",
                              (unsigned long long)bytes, (unsigned long long)stream->workspace_bytes);
  if (error == cudaErrorMemoryAllocation) return cuda_no_memory(device, bytes, "workspace");
  return cuda_check(device, error, "workspace");
}

static pd_status stream_synchronize(pd_device *device, pd_stream *stream) {
  const pd_status status = cuda_bind(device);
  return status != PD_OK ? status : cuda_check(device, cudaStreamSynchronize(stream->handle), "cudaStreamSynchronize");
}

static pd_status device_synchronize(pd_device *device) {
  const pd_status status = cuda_bind(device);
  return status != PD_OK ? status : cuda_check(device, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static pd_status event_create(pd_device *device, pd_event **out) {
  *out = NULL;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  pd_event *event = calloc(1, sizeof *event);
  if (!event) return device->host->fail(device->host, PD_NO_MEMORY, "cuda: no memory for an event");
  status = cuda_check(device, cudaEventCreate(&event->handle), "cudaEventCreate");
  if (status != PD_OK)
    free(event);
  else
    *out = event;
  return status;
}

static void event_destroy(pd_device *device, pd_event *event) {
  if (!event) return;
  if (cuda_bind(device) == PD_OK) cudaEventDestroy(event->handle);
  free(event);
}

static pd_status event_record(pd_device *device, pd_stream *stream, pd_event *event) {
  const pd_status status = cuda_bind(device);
  return status != PD_OK ? status
                         : cuda_check(device, cudaEventRecord(event->handle, stream->handle), "cudaEventRecord");
}

static pd_status event_wait(pd_device *device, pd_stream *stream, pd_event *event) {
  const pd_status status = cuda_bind(device);
  return status != PD_OK
             ? status
             : cuda_check(device, cudaStreamWaitEvent(stream->handle, event->handle, 0), "cudaStreamWaitEvent");
}

static pd_status event_synchronize(pd_device *device, pd_event *event) {
  const pd_status status = cuda_bind(device);
  return status != PD_OK ? status : cuda_check(device, cudaEventSynchronize(event->handle), "cudaEventSynchronize");
}

static pd_status event_elapsed_ns(pd_device *device, pd_event *start, pd_event *end, double *ns) {
  float ms = 0;
  pd_status status = cuda_bind(device);
  if (status == PD_OK)
    status = cuda_check(device, cudaEventElapsedTime(&ms, start->handle, end->handle), "cudaEventElapsedTime");
  *ns = (double)ms * 1e6;
  return status;
}

static void *native(pd_device *device, pd_stream *stream) {
  (void)device;
  return stream->handle;
}

const pd_stream_ops cuda_stream_ops = {.size = sizeof(pd_stream_ops),
                                       .create = stream_create,
                                       .destroy = stream_destroy,
                                       .synchronize = stream_synchronize,
                                       .device_synchronize = device_synchronize,
                                       .event_create = event_create,
                                       .event_destroy = event_destroy,
                                       .event_record = event_record,
                                       .event_wait = event_wait,
                                       .event_synchronize = event_synchronize,
                                       .event_elapsed_ns = event_elapsed_ns,
                                       .capture_begin = cuda_capture_begin,
                                       .capture_end = cuda_capture_end,
                                       .graph_launch = cuda_graph_launch,
                                       .graph_destroy = cuda_graph_destroy,
                                       .native = native};
