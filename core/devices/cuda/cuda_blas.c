/* See cuda_blas.h. */
#include "cuda_blas.h"

#include "cuda_error.h"

#include <dlfcn.h>
#include <stdlib.h>

void cuda_blas_close(pd_device *device) {
  cuda_blas *self = device->blas;
  if (!self) return;
  if (self->handle) self->destroy(self->handle);
  if (self->library) dlclose(self->library);
  free(self);
  device->blas = NULL;
}

void cuda_blas_leave(pd_device *device, const pd_stream *stream) {
  cuda_blas *self = device->blas;
  if (!self || self->stream != stream) return;
  self->set_stream(self->handle, NULL);
  self->stream = NULL;
}

/* Versioned, as cublas_v2.h spells them for its users. */
#define TEXT_OF_(name) #name
#define TEXT_OF(name) TEXT_OF_(name)

static bool load_all(cuda_blas *self) {
  return cuda_library_find(self->library, TEXT_OF(cublasCreate), &self->create) &&
         cuda_library_find(self->library, TEXT_OF(cublasDestroy), &self->destroy) &&
         cuda_library_find(self->library, TEXT_OF(cublasSetStream), &self->set_stream) &&
         cuda_library_find(self->library, TEXT_OF(cublasSetWorkspace), &self->set_workspace) &&
         cuda_library_find(self->library, TEXT_OF(cublasSetMathMode), &self->set_math_mode) &&
         cuda_library_find(self->library, TEXT_OF(cublasSgemmStridedBatched), &self->sgemm) &&
         cuda_library_find(self->library, TEXT_OF(cublasGemmStridedBatchedEx), &self->gemm);
}

pd_status cuda_blas_open(pd_device *device) {
  if (device->blas) return PD_OK;
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
                                      NULL};
  char said[384];
  cuda_blas *self = calloc(1, sizeof *self);
  if (!self) return device->host->fail(device->host, PD_NO_MEMORY, "cuda: no memory for batched products");
  device->blas = self;
  self->library = cuda_library_open(names, said, sizeof said);
  if (!self->library || !load_all(self)) {
    (void)device->host->fail(device->host, PD_UNSUPPORTED,
                             "batched_matmul: no cuBLAS of CUDA 12 or 13: %s; set LD_LIBRARY_PATH to its folder",
                             self->library ? "the library that was found is too old" : said);
    cuda_blas_close(device);
    return PD_UNSUPPORTED;
  }
  if (self->create(&self->handle)) {
    (void)device->host->fail(device->host, PD_DEVICE, "cuBLAS: cublasCreate failed");
    cuda_blas_close(device);
    return PD_DEVICE;
  }
  return PD_OK;
}

pd_status cuda_blas_take(pd_device *device, pd_stream *stream) {
  cuda_blas *self = device->blas;
  if (self->stream == stream && self->workspace == stream->workspace) return PD_OK;
  cublasStatus_t error = self->set_stream(self->handle, stream->handle);
  if (error == CUBLAS_STATUS_SUCCESS)
    error = self->set_workspace(self->handle, stream->workspace, stream->workspace_bytes);
  if (error != CUBLAS_STATUS_SUCCESS) return cuda_cublas_failed(device, error, "cublasSetStream");
  self->stream = stream;
  self->workspace = stream->workspace;
  return PD_OK;
}
