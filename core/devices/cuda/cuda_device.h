/* The state behind pd_device, pd_stream, pd_event and pd_graph of the CUDA device, and what its files share. */
#ifndef DEVICES_CUDA_CUDA_DEVICE_H
#define DEVICES_CUDA_CUDA_DEVICE_H

#include "libraries.h"
#include "devices/cuda/cupti/cupti_profile.h"
#include "devices/cuda/kernels/kernels.h"

#include <pdhost/device.h>
#include <pdhost/record.h>

#include <pthread.h>
#include <stdatomic.h>

typedef struct cuda_conv_cache cuda_conv_cache;     /* conv_plan.h */
typedef struct cuda_matmul_cache cuda_matmul_cache; /* cuda_ops_matmul.c */
typedef struct cuda_blas cuda_blas;                 /* cuda_ops_batched.c */

typedef struct cuda_options {
  const char *cupti_between;
  const char *cupti_library;
  int64_t cupti_memory;
  const char *conv_search; /* heuristic, timed, exhaustive */
  int64_t conv_workspace;  /* most bytes of one convolution */
} cuda_options;

struct pd_device {
  const pd_host *host;
  const pd_record *record;    /* NULL: not recorded */
  atomic_bool profile_memory; /* allocations are memory events; written by attach */
  cuda_options options;
  int index;
  uint32_t sm_count;
  cudaMemPool_t pool;
  pd_device_props props;
  char name[256];
  char versions[160], versions_now[200];
  /* bytes in use */
  atomic_uint_least64_t allocated, peak, raw, pinned;
  cuda_libraries libraries;
  pthread_mutex_t lock; /* handles, plans and scratch of the libraries: cuDNN's handle is not for several threads */
  cudnnHandle_t cudnn;
  pd_stream *cudnn_stream; /* the handle's */
  cublasLtHandle_t cublaslt;
  cuda_conv_cache *convolutions;
  cuda_matmul_cache *matmuls;
  cuda_blas *blas; /* NULL: no batched product so far */
  cuda_profile *profile;
  pd_stream *first_stream; /* where the profiler's marks go */
  pd_event *marks[2];
};

/* A workspace that a graph may have the address of. */
typedef struct cuda_retired {
  struct cuda_retired *next;
  void *workspace;
} cuda_retired;

struct pd_stream {
  cudaStream_t handle;
  cuda_launch launch;
  void *scratch;   /* counters, then partials */
  void *workspace; /* of the libraries; grows outside the steady state; under the device's lock */
  uint64_t workspace_bytes;
  cuda_retired *retired; /* outgrown since something was captured; freed with the stream */
  bool capturing, captured;
};

struct pd_event {
  cudaEvent_t handle;
};

struct pd_graph {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
};

/* Makes the device the calling thread's; cheap where it is already. */
pd_status cuda_bind(pd_device *device);
/* The same for a device that is being opened, whether or not the runtime began with it. */
pd_status cuda_bind_first(pd_device *device);

/* Device memory. Where there is none, what the pool keeps for reuse may be in the way: it is given back and the memory
 * asked for once more, but not inside a capture, since that waits for the stream. Without a word to the host; a fault
 * that the wait meets is returned as it is. */
cudaError_t cuda_allocate(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void **out);

/* At least `bytes` of workspace on the stream; under device->lock. May wait for the stream. Refused inside a capture.
 */
pd_status cuda_workspace(pd_device *device, pd_stream *stream, uint64_t bytes);
/* The same without a word to the host: cudaErrorMemoryAllocation, or cudaErrorStreamCaptureUnsupported in a capture. */
cudaError_t cuda_workspace_grow(pd_device *device, pd_stream *stream, uint64_t bytes);

extern const pd_memory_ops cuda_memory_ops;
extern const pd_stream_ops cuda_stream_ops;
extern const pd_tensor_ops cuda_tensor_ops;

/* cuda_graph.c */
pd_status cuda_capture_begin(pd_device *device, pd_stream *stream);
pd_status cuda_capture_end(pd_device *device, pd_stream *stream, pd_graph **out);
pd_status cuda_graph_launch(pd_device *device, pd_stream *stream, pd_graph *graph);
void cuda_graph_destroy(pd_device *device, pd_graph *graph);

/* conv_plan.c, cuda_ops_matmul.c, cuda_ops_batched.c: free the libraries' plans and handles */
void cuda_convolutions_close(pd_device *device);
void cuda_matmuls_close(pd_device *device);
void cuda_blas_close(pd_device *device);
/* Takes the stream, which is about to be destroyed, from cuBLAS's handle; under device->lock. */
void cuda_blas_leave(pd_device *device, const pd_stream *stream);

#endif
