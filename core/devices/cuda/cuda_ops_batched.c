/* Batched matrix products by cuBLAS; see cuda_blas.h. */
#include "cuda_blas.h"
#include "cuda_ops.h"

enum { BATCHED_WORKSPACE = 32 << 20 };

/* The products of one call as the library takes them: it is column-major. A result of one column is the same in both
 * orders: then a comes first, and the library sees a matrix times a vector. Otherwise c' = b' a'. */
typedef struct batched_call {
  const void *first, *second;
  cublasOperation_t op_first, op_second;
  int rows, columns, depth, ld_first, ld_second, ld_result, batches;
  long long step_first, step_second, step_result;
} batched_call;

static batched_call call_of(const pd_tensor *a, const pd_tensor *b, bool transpose_a, bool transpose_b) {
  const int m = (int)a->shape[transpose_a ? 2 : 1], k = (int)a->shape[transpose_a ? 1 : 2];
  const int n = (int)b->shape[transpose_b ? 1 : 2];
  const long long a_size = (long long)m * k, b_size = (long long)k * n;
  batched_call call = {.rows = n == 1 ? m : n,
                       .columns = n == 1 ? 1 : m,
                       .depth = k,
                       .ld_result = n == 1 ? m : n,
                       .batches = (int)a->shape[0],
                       .step_result = (long long)m * n};
  if (n == 1) {
    call.first = a->data, call.second = b->data;
    call.op_first = transpose_a ? CUBLAS_OP_N : CUBLAS_OP_T, call.op_second = transpose_b ? CUBLAS_OP_N : CUBLAS_OP_T;
    call.ld_first = (int)a->shape[2], call.ld_second = (int)b->shape[2];
    call.step_first = a_size, call.step_second = b_size;
  } else {
    call.first = b->data, call.second = a->data;
    call.op_first = transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, call.op_second = transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    call.ld_first = (int)b->shape[2], call.ld_second = (int)a->shape[2];
    call.step_first = b_size, call.step_second = a_size;
  }
  return call;
}

static cublasStatus_t launch(const cuda_blas *blas, const batched_call *p, void *c, pd_dtype dtype) {
  const float one = 1.0f, zero = 0.0f;
  if (dtype == PD_F32)
    return blas->sgemm(blas->handle, p->op_first, p->op_second, p->rows, p->columns, p->depth, &one, p->first,
                       p->ld_first, p->step_first, p->second, p->ld_second, p->step_second, &zero, c, p->ld_result,
                       p->step_result, p->batches);
  const cudaDataType_t type = dtype == PD_F16 ? CUDA_R_16F : CUDA_R_16BF;
  return blas->gemm(blas->handle, p->op_first, p->op_second, p->rows, p->columns, p->depth, &one, p->first, type,
                    p->ld_first, p->step_first, p->second, type, p->ld_second, p->step_second, &zero, c, type,
                    p->ld_result, p->step_result, p->batches, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

/* Under the device's lock. */
static pd_status multiply(pd_device *device, pd_stream *stream, const pd_tensor *c, const batched_call *call,
                          bool tf32) {
  pd_status status = cuda_blas_open(device);
  if (status == PD_OK) status = cuda_workspace(device, stream, BATCHED_WORKSPACE);
  if (status == PD_OK) status = cuda_blas_take(device, stream);
  if (status != PD_OK) return status;
  cuda_blas *blas = device->blas;
  cublasStatus_t error = CUBLAS_STATUS_SUCCESS;
  if (blas->tf32 != tf32)
    error = blas->set_math_mode(blas->handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
  if (error == CUBLAS_STATUS_SUCCESS) blas->tf32 = tf32;
  if (error == CUBLAS_STATUS_SUCCESS) error = launch(blas, call, c->data, c->dtype);
  return error == CUBLAS_STATUS_SUCCESS ? PD_OK : cuda_cublas_failed(device, error, "a batched product");
}

pd_status cuda_op_batched_matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                                 const pd_tensor *b, bool transpose_a, bool transpose_b, bool allow_tf32) {
  OP_REQUIRE(a->rank == 3 && b->rank == 3 && c->rank == 3, "batched_matmul", "not three batches of matrices");
  OP_REQUIRE(tensor_real(a) && b->dtype == a->dtype && c->dtype == a->dtype, "batched_matmul",
             "the types differ, or are not floating-point types");
  OP_REQUIRE(b->shape[0] == a->shape[0] && c->shape[0] == a->shape[0] &&
                 b->shape[transpose_b ? 2 : 1] == a->shape[transpose_a ? 1 : 2] &&
                 c->shape[1] == a->shape[transpose_a ? 2 : 1] && c->shape[2] == b->shape[transpose_b ? 1 : 2],
             "batched_matmul", "the shapes do not fit");
  for (int i = 0; i < 3; i++)
    OP_REQUIRE(a->shape[i] > 0 && a->shape[i] <= INT32_MAX && b->shape[i] > 0 && b->shape[i] <= INT32_MAX,
               "batched_matmul", "a dimension is empty or too large");
  const batched_call call = call_of(a, b, transpose_a, transpose_b);
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  pthread_mutex_lock(&device->lock);
  status = multiply(device, stream, c, &call, allow_tf32);
  pthread_mutex_unlock(&device->lock);
  return status;
}
