/* A CUDA program that links the runtime statically, as nvcc does by default: plain STEPS. */
#include <pdhost/clocks.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 1 << 20 };

static __global__ void scale(float *values, float by) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < COUNT) values[at] *= by;
}

static __global__ void add(float *sums, const float *values) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < COUNT) sums[at] += values[at];
}

int main(int count, char **words) {
  const int steps = count > 1 ? atoi(words[1]) : 300;
  printf("pid %d\n", (int)getpid()); /* and its end, for tests/cli/support/record_footprint.py */
  fflush(stdout);
  float *host = NULL, *values = NULL, *sums = NULL;
  if (cudaMallocHost(&host, COUNT * sizeof *host) || cudaMalloc(&values, COUNT * sizeof *values) ||
      cudaMalloc(&sums, COUNT * sizeof *sums) || cudaMemset(sums, 0, COUNT * sizeof *sums))
    return 1;
  for (int i = 0; i < COUNT; i++) host[i] = 1;
  for (int step = 0; step < steps; step++) {
    cudaMemcpyAsync(values, host, COUNT * sizeof *values, cudaMemcpyHostToDevice, 0);
    for (int i = 0; i < 4; i++) scale<<<COUNT / 256, 256>>>(values, 0.5f);
    add<<<COUNT / 256, 256>>>(sums, values);
    if (cudaDeviceSynchronize()) return 1;
  }
  if (cudaMemcpy(host, sums, sizeof *host, cudaMemcpyDeviceToHost)) return 1;
  printf("plain: %d steps, sum %g\n", steps, host[0]);
  printf("end %lld\n", (long long)pd_monotonic_ns());
  fflush(stdout);
  return 3; /* whoever records it has to end so, too */
}
