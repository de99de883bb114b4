/*
 * Batched matrix products by cuBLAS, which has kernels for many small ones that cuBLASLt lacks. It is loaded by name at
 * the first such product: nothing else needs it.
 */
#include "cuda_ops.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdlib.h>

struct cuda_blas {
  void *library;
  cublasHandle_t handle;
  pd_stream *stream; /* the handle's */
  bool tf32;
  __typeof__(&cublasCreate) create;
  __typeof__(&cublasDestroy) destroy;
  __typeof__(&cublasSetStream) set_stream;
  __typeof__(&cublasSetMathMode) set_math_mode;
  __typeof__(&cublasSgemmStridedBatched) sgemm;
};

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
         cuda_library_find(self->library, TEXT_OF(cublasSetMathMode), &self->set_math_mode) &&
         cuda_library_find(self->library, TEXT_OF(cublasSgemmStridedBatched), &self->sgemm);
}

static pd_status open_library(pd_device *device) {
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

/* Under the device's lock. */
static pd_status multiply(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                          const pd_tensor *b, bool tf32) {
  const int m = (int)a->shape[1], k = (int)a->shape[2], n = (int)b->shape[2], batches = (int)a->shape[0];
  const long long a_size = (long long)m * k, b_size = (long long)k * n, c_size = (long long)m * n;
  const float one = 1.0f, zero = 0.0f;
  pd_status status = open_library(device);
  if (status != PD_OK) return status;
  cuda_blas *blas = device->blas;
  cublasStatus_t error = CUBLAS_STATUS_SUCCESS;
  if (blas->stream != stream) error = blas->set_stream(blas->handle, stream->handle);
  if (error == CUBLAS_STATUS_SUCCESS) blas->stream = stream;
  if (!error && blas->tf32 != tf32)
    error = blas->set_math_mode(blas->handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
  if (error == CUBLAS_STATUS_SUCCESS) blas->tf32 = tf32;
  /* The library is column-major. A result of one column is the same in both orders: then a stands first, and the
   * library sees a matrix times a vector. Otherwise c' = b' a'. */
  if (!error && n == 1)
    error = blas->sgemm(blas->handle, CUBLAS_OP_T, CUBLAS_OP_T, m, 1, k, &one, a->data, k, a_size, b->data, 1, b_size,
                        &zero, c->data, m, c_size, batches);
  else if (error == CUBLAS_STATUS_SUCCESS)
    error = blas->sgemm(blas->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b->data, n, b_size, a->data, k, a_size,
                        &zero, c->data, n, c_size, batches);
  if (error == CUBLAS_STATUS_SUCCESS) return PD_OK;
  return device->host->fail(device->host, PD_DEVICE, "cuBLAS: cublasSgemmStridedBatched: %s",
                            device->libraries.cublaslt.GetStatusString(error));
}

pd_status cuda_op_batched_matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                                 const pd_tensor *b, bool allow_tf32) {
  OP_REQUIRE(a->rank == 3 && b->rank == 3 && c->rank == 3, "batched_matmul", "not three batches of matrices");
  OP_REQUIRE(a->dtype == PD_F32 && b->dtype == PD_F32 && c->dtype == PD_F32, "batched_matmul", "not all are float32");
  OP_REQUIRE(b->shape[0] == a->shape[0] && c->shape[0] == a->shape[0] && b->shape[1] == a->shape[2] &&
                 c->shape[1] == a->shape[1] && c->shape[2] == b->shape[2],
             "batched_matmul", "the shapes do not fit");
  for (int i = 0; i < 3; i++)
    OP_REQUIRE(a->shape[i] > 0 && a->shape[i] <= INT32_MAX && b->shape[i] > 0 && b->shape[i] <= INT32_MAX,
               "batched_matmul", "a dimension is empty or too large");
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  pthread_mutex_lock(&device->lock);
  status = multiply(device, stream, c, a, b, allow_tf32);
  pthread_mutex_unlock(&device->lock);
  return status;
}
