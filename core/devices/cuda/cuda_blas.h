/* The handle of cuBLAS, which has kernels for many small products that cuBLASLt lacks. The library is loaded by name at
 * the first such product: nothing else needs it. Under the device's lock. */
#ifndef DEVICES_CUDA_BLAS_H
#define DEVICES_CUDA_BLAS_H

#include "cuda_device.h"

#include <cublas_v2.h>

struct cuda_blas {
  void *library;
  cublasHandle_t handle;
  pd_stream *stream; /* the handle's */
  void *workspace;   /* the stream's, which the handle has */
  bool tf32;
  __typeof__(&cublasCreate) create;
  __typeof__(&cublasDestroy) destroy;
  __typeof__(&cublasSetStream) set_stream;
  __typeof__(&cublasSetWorkspace) set_workspace;
  __typeof__(&cublasSetMathMode) set_math_mode;
  __typeof__(&cublasSgemmStridedBatched) sgemm;
  __typeof__(&cublasGemmStridedBatchedEx) gemm;
};

/* Opens it where it is not open yet. */
pd_status cuda_blas_open(pd_device *device);
/* The handle on the stream, with the stream's workspace: one of the library's own would be allocated in a capture. */
pd_status cuda_blas_take(pd_device *device, pd_stream *stream);

#endif
