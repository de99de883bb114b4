/* See gpu_work.h. */
#include "gpu_work.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAIN = 2000, BIG_BYTES = 200000, COUNT = 1 << 20 };

cudaStream_t gpu_stream;
static float *device_data, *host_data;
static cudaGraphExec_t graph;
static pthread_t beside_thread;
static bool beside_calm;
static _Atomic bool beside_on;
static _Atomic uint64_t beside_launches;

void gpu_cuda(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}

void gpu_work_open(void) {
  gpu_cuda(cudaStreamCreateWithFlags(&gpu_stream, cudaStreamNonBlocking), "cudaStreamCreate");
  gpu_cuda(cudaMalloc((void **)&device_data, COUNT * sizeof(float)), "cudaMalloc");
  gpu_cuda(cudaMallocHost((void **)&host_data, COUNT * sizeof(float)), "cudaMallocHost");
  for (int i = 0; i < 3; i++) gpu_work(false);
  gpu_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

uint64_t gpu_work(bool graphs) {
  uint64_t launches = 0;
  for (int i = 0; i < PLAIN; i++, launches++)
    gpu_cuda(i % 100 == 99 ? launch_spin(gpu_stream, 100000)
             : i % 3       ? launch_empty(gpu_stream)
                           : launch_named(gpu_stream, device_data, COUNT),
             "launch");
  for (int i = 0; i < 5; i++, launches++)
    gpu_cuda(cudaMemcpyAsync(device_data, host_data, COUNT * sizeof(float), cudaMemcpyHostToDevice, gpu_stream),
             "copy");
  for (int i = 0; i < GPU_DRIVER_LAUNCHES; i++, launches++)
    gpu_cuda(launch_driver(gpu_stream), "launch through the driver");
  gpu_cuda(cudaMemsetAsync(device_data, 0, COUNT, gpu_stream), "memset");
  gpu_cuda(cudaMemsetAsync(device_data, 0, 0, gpu_stream),
           "memset of no bytes"); /* has no record, and is not waited for */
  gpu_cuda(launch_big_shared(gpu_stream, device_data, BIG_BYTES), "big launch");
  launches += 2;
  for (int i = 0; graphs && i < GPU_GRAPH_LAUNCHES; i++) gpu_graph_launch("cudaGraphLaunch");
  return launches;
}

void gpu_capture(void) {
  cudaGraph_t captured;
  gpu_cuda(cudaStreamBeginCapture(gpu_stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < GPU_GRAPH_NODES; i++) gpu_cuda(launch_empty(gpu_stream), "launch into a capture");
  gpu_cuda(cudaMemsetAsync(device_data, 0, 4096, gpu_stream), "memset into a capture");
  gpu_cuda(cudaStreamEndCapture(gpu_stream, &captured), "cudaStreamEndCapture");
  gpu_cuda(cudaGraphInstantiate(&graph, captured, 0), "cudaGraphInstantiate");
  gpu_cuda(cudaGraphDestroy(captured), "cudaGraphDestroy");
}

void gpu_graph_launch(const char *what) { gpu_cuda(cudaGraphLaunch(graph, gpu_stream), what); }

void gpu_graph_free(void) {
  if (graph) gpu_cuda(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  graph = NULL;
}

double gpu_launch_cost_ns(void) {
  enum { LAUNCHES = 20000 };
  gpu_cuda(cudaStreamSynchronize(gpu_stream), "cudaStreamSynchronize");
  const int64_t start = pd_monotonic_ns();
  for (int i = 0; i < LAUNCHES; i++) gpu_cuda(launch_empty(gpu_stream), "launch");
  const double ns = (double)(pd_monotonic_ns() - start) / LAUNCHES;
  gpu_cuda(cudaStreamSynchronize(gpu_stream), "cudaStreamSynchronize");
  return ns;
}

static void *beside(void *unused) {
  (void)unused;
  cudaStream_t own;
  float *data, *host;
  const uint64_t each = beside_calm ? 2 : 16;
  gpu_cuda(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreate");
  gpu_cuda(cudaMalloc((void **)&data, 1 << 16), "cudaMalloc");
  gpu_cuda(cudaMallocHost((void **)&host, 1 << 16), "cudaMallocHost");
  while (atomic_load(&beside_on)) {
    gpu_cuda(cudaMemcpyAsync(data, host, 1 << 16, cudaMemcpyHostToDevice, own), "copy beside");
    gpu_cuda(launch_empty(own), "launch beside");
    atomic_fetch_add(&beside_launches, 2);
    if (atomic_load(&beside_launches) % each == 0) gpu_cuda(cudaStreamSynchronize(own), "synchronize beside");
  }
  gpu_cuda(cudaStreamSynchronize(own), "synchronize beside");
  return NULL;
}

void gpu_beside_start(bool calm) {
  beside_calm = calm;
  atomic_store(&beside_on, true);
  if (pthread_create(&beside_thread, NULL, beside, NULL)) exit(1);
}

uint64_t gpu_beside_stop(void) {
  atomic_store(&beside_on, false);
  pthread_join(beside_thread, NULL);
  return atomic_load(&beside_launches);
}
