/* What gpu_cupti.c has the GPU do: launches, copies and a captured graph on one stream, and the same beside it. */
#ifndef TESTS_GPU_WORK_H
#define TESTS_GPU_WORK_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  GPU_GRAPH_NODES = 1000,  /* kernels of the captured graph, which has a set besides */
  GPU_GRAPH_LAUNCHES = 6,  /* of a window */
  GPU_DRIVER_LAUNCHES = 10 /* of a window, by the driver's interface */
};

/* gpu_kernels.cu */
cudaError_t launch_empty(cudaStream_t stream);
cudaError_t launch_spin(cudaStream_t stream, long long cycles);
cudaError_t launch_named(cudaStream_t stream, float *data, int count);
cudaError_t launch_driver(cudaStream_t stream);
cudaError_t launch_big_shared(cudaStream_t stream, float *out, int bytes);

extern cudaStream_t gpu_stream;

/* Ends the program on an error. */
void gpu_cuda(cudaError_t error, const char *what);
/* Makes the stream and the memory, and does a window's work three times. */
void gpu_work_open(void);
/* One window's work; returns launches with one record each. `graphs`: the captured graph is launched too. */
uint64_t gpu_work(bool graphs);
void gpu_capture(void);
void gpu_graph_launch(const char *what);
/* Does nothing where none was captured. */
void gpu_graph_free(void);
double gpu_launch_cost_ns(void);
/* A thread with work of its own on another stream, as a loader's might have. It waits for it now and then, or, calm,
 * each time, so that CUPTI can be detached beside it. */
void gpu_beside_start(bool calm);
/* Returns how many launches it made. */
uint64_t gpu_beside_stop(void);

#endif
