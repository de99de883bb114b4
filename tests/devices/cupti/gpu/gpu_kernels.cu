/* Kernels for the GPU check of the CUPTI collector, behind C functions. */
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void empty_kernel(void) {}

__global__ void spin_kernel(long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
}

template <typename T> __global__ void named_kernel(T *data, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = (T)i;
}

extern __shared__ float big[];
__global__ void big_shared_kernel(float *out) {
  big[threadIdx.x] = (float)threadIdx.x;
  __syncthreads();
  if (out) out[threadIdx.x] = big[threadIdx.x];
}

extern "C" cudaError_t launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}
extern "C" cudaError_t launch_spin(cudaStream_t stream, long long cycles) {
  spin_kernel<<<1, 32, 0, stream>>>(cycles);
  return cudaGetLastError();
}
extern "C" cudaError_t launch_named(cudaStream_t stream, float *data, int count) {
  named_kernel<float><<<(count + 127) / 128, 128, 0, stream>>>(data, count);
  return cudaGetLastError();
}
extern "C" cudaError_t launch_big_shared(cudaStream_t stream, float *out, int bytes) {
  cudaError_t error = cudaFuncSetAttribute(big_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  big_shared_kernel<<<132, 256, (size_t)bytes, stream>>>(out);
  return cudaGetLastError();
}

/* As libraries launch: through the driver, past the runtime's own calls. */
extern "C" cudaError_t launch_driver(cudaStream_t stream) {
  typedef CUresult (*launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      CUstream, void **, void **);
  static launch_function launch;
  static cudaFunction_t kernel;
  if (!launch) {
    cudaDriverEntryPointQueryResult found;
    cudaError_t error = cudaGetFuncBySymbol(&kernel, (const void *)empty_kernel);
    if (error == cudaSuccess)
      error = cudaGetDriverEntryPointByVersion("cuLaunchKernel", (void **)&launch, 12000, cudaEnableDefault, &found);
    if (error != cudaSuccess) return error;
  }
  return launch((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, (CUstream)stream, NULL, NULL) ? cudaErrorUnknown
                                                                                        : cudaSuccess;
}
