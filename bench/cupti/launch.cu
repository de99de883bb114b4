/* The empty kernel of bench_cupti_idle. */
#include <cuda_runtime.h>

__global__ void bench_empty_kernel(void) {}

extern "C" cudaError_t bench_launch(cudaStream_t stream) {
  bench_empty_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}
