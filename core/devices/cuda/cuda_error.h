/* Failures of the CUDA libraries as pd_status, with the library's own text. */
#ifndef DEVICES_CUDA_CUDA_ERROR_H
#define DEVICES_CUDA_CUDA_ERROR_H

#include "cuda_device.h"

pd_status cuda_failed(pd_device *device, cudaError_t error, const char *what);
/* PD_NO_MEMORY: `where` asked for `bytes` of device memory. */
pd_status cuda_no_memory(pd_device *device, uint64_t bytes, const char *where);
pd_status cuda_cudnn_failed(pd_device *device, cudnnStatus_t status, const char *what);
pd_status cuda_cublas_failed(pd_device *device, cublasStatus_t status, const char *what);

static inline pd_status cuda_check(pd_device *device, cudaError_t error, const char *what) {
  return error == cudaSuccess ? PD_OK : cuda_failed(device, error, what);
}

/* PD_INVALID: the operation got a tensor it does not take. */
pd_status cuda_refuse(pd_device *device, const char *operation, const char *why);

#endif
