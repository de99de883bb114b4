/* Failures of the CUDA libraries as pd_status. Called on any thread, off the hot path. */
#include "cuda_error.h"

#include <inttypes.h>

pd_status cuda_failed(pd_device *device, cudaError_t error, const char *what) {
  (void)cudaGetLastError(); /* told here, and not once more by the next call that asks for the last error */
  if (error == cudaErrorMemoryAllocation)
    return device->host->fail(device->host, PD_NO_MEMORY, "CUDA: %s: out of memory (%s)", what,
                              cudaGetErrorName(error));
  return device->host->fail(device->host, PD_DEVICE, "CUDA: %s: %s (%s)", what, cudaGetErrorString(error),
                            cudaGetErrorName(error));
}

pd_status cuda_no_memory(pd_device *device, uint64_t bytes, const char *where) {
  size_t available = 0, total = 0;
  (void)cudaGetLastError();
  if (cudaMemGetInfo(&available, &total) != cudaSuccess) (void)cudaGetLastError();
  return device->host->fail(device->host, PD_NO_MEMORY,
                            "CUDA: %s: %" PRIu64 " bytes asked, %zu free of %zu: lower batch_size or image_size", where,
                            bytes, available, total);
}

pd_status cuda_cudnn_failed(pd_device *device, cudnnStatus_t status, const char *what) {
  char detail[512] = "";
  device->libraries.cudnn.GetLastErrorString(detail, sizeof detail);
  return device->host->fail(device->host, PD_DEVICE, "cuDNN: %s: %s%s%s", what,
                            device->libraries.cudnn.GetErrorString(status), detail[0] ? ": " : "", detail);
}

pd_status cuda_cublas_failed(pd_device *device, cublasStatus_t status, const char *what) {
  return device->host->fail(device->host, PD_DEVICE, "cuBLASLt: %s: %s", what,
                            device->libraries.cublaslt.GetStatusString(status));
}

pd_status cuda_refuse(pd_device *device, const char *operation, const char *why) {
  return device->host->fail(device->host, PD_INVALID, "cuda: %s: %s", operation, why);
}
