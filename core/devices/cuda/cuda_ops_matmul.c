/*
 * Matrix products: small ones through a kernel of ours, the others through cuBLASLt. The library's descriptors and its
 * choice of algorithm are kept per shape; a call in the steady state looks its plan up, sets the bias and launches.
 *
 * cuBLASLt is column-major: a row-major c = a b is its c' = b' a', so the operands change places.
 */
#include "cuda_ops.h"

#include <stdlib.h>
#include <string.h>

enum {
  MATMUL_WORKSPACE = 32 << 20,
  DEEP = 2048, /* k, and its multiple of m and of n, from which a product may be divided */
  DEEP_TIMES = 4,
  SMALL_PRODUCTS = 32 << 20,
  SMALL_ROWS = 65535 * 32 /* most blocks that a grid has in its second dimension, times the rows of one */
};

typedef struct matmul_key {
  int64_t m, n, k;
  pd_dtype c_dtype, a_dtype, b_dtype;
  uint32_t alignment; /* of all three, at most 16 */
  bool transpose_a, transpose_b, bias, accumulate, tf32;
  bool unused[3];
} matmul_key;

typedef struct matmul_plan {
  struct matmul_plan *next;
  matmul_key key;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c; /* the library's a and b */
  cublasLtMatmulAlgo_t algo;
  bool separate_bias; /* the library does not add it: a kernel of ours does, afterwards */
} matmul_plan;

struct cuda_matmul_cache {
  matmul_plan *plans;
};

static void plan_free(pd_device *device, matmul_plan *plan) {
  if (plan->desc) device->libraries.cublaslt.MatmulDescDestroy(plan->desc);
  if (plan->a) device->libraries.cublaslt.MatrixLayoutDestroy(plan->a);
  if (plan->b) device->libraries.cublaslt.MatrixLayoutDestroy(plan->b);
  if (plan->c) device->libraries.cublaslt.MatrixLayoutDestroy(plan->c);
  free(plan);
}

void cuda_matmuls_close(pd_device *device) {
  if (device->matmuls) {
    for (matmul_plan *plan = device->matmuls->plans, *next; plan; plan = next) {
      next = plan->next;
      plan_free(device, plan);
    }
    free(device->matmuls);
  }
  if (device->cublaslt) device->libraries.cublaslt.Destroy(device->cublaslt);
  device->matmuls = NULL;
  device->cublaslt = NULL;
}

static pd_status open_library(pd_device *device) {
  if (device->cublaslt) return PD_OK;
  if (!device->matmuls) device->matmuls = calloc(1, sizeof *device->matmuls);
  if (!device->matmuls) return device->host->fail(device->host, PD_NO_MEMORY, "cuda: no memory for matrix plans");
  const cublasStatus_t status = device->libraries.cublaslt.Create(&device->cublaslt);
  return status != CUBLAS_STATUS_SUCCESS ? cuda_cublas_failed(device, status, "cublasLtCreate") : PD_OK;
}

static cudaDataType_t data_type(pd_dtype dtype) {
  return dtype == PD_F16 ? CUDA_R_16F : dtype == PD_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* The library's proposal for the plan's descriptors; false: it has none. */
static bool ask_library(pd_device *device, matmul_plan *plan) {
  const uint64_t workspace = MATMUL_WORKSPACE;
  const uint32_t alignment = plan->key.alignment;
  /* One kernel per product, as a sum over parts of k would be a second one; but not where few blocks would each add up
   * a long k, as of the gradients of weights that thousands of rows share. */
  const int64_t k = plan->key.k;
  const bool is_deep = k >= DEEP && k >= DEEP_TIMES * plan->key.m && k >= DEEP_TIMES * plan->key.n;
  const uint32_t reduction = is_deep ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_NONE;
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  cublasLtMatmulPreference_t preference;
  if (device->libraries.cublaslt.MatmulPreferenceCreate(&preference)) return false;
#define SET(name, value)                                                                                               \
  device->libraries.cublaslt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_##name, &(value),           \
                                                          sizeof(value))
  bool ok = !SET(MAX_WORKSPACE_BYTES, workspace) && !SET(MIN_ALIGNMENT_A_BYTES, alignment) &&
            !SET(MIN_ALIGNMENT_B_BYTES, alignment) && !SET(MIN_ALIGNMENT_C_BYTES, alignment) &&
            !SET(MIN_ALIGNMENT_D_BYTES, alignment) && !SET(REDUCTION_SCHEME_MASK, reduction);
#undef SET
  ok = ok &&
       !device->libraries.cublaslt.MatmulAlgoGetHeuristic(device->cublaslt, plan->desc, plan->a, plan->b, plan->c,
                                                          plan->c, preference, 1, &result, &found) &&
       found > 0;
  device->libraries.cublaslt.MatmulPreferenceDestroy(preference);
  if (ok) plan->algo = result.algo;
  return ok;
}

static cublasStatus_t describe(pd_device *device, matmul_plan *plan) {
  const matmul_key *key = &plan->key;
  const bool half = dtype_half(key->a_dtype);
  const cublasComputeType_t compute = key->tf32 && !half ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasOperation_t op_first = key->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_second = key->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasStatus_t status = device->libraries.cublaslt.MatmulDescCreate(&plan->desc, compute, CUDA_R_32F);
#define SET(name, value)                                                                                               \
  if (status == CUBLAS_STATUS_SUCCESS)                                                                                 \
  status = device->libraries.cublaslt.MatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_##name, &(value),        \
                                                             sizeof(value))
  SET(TRANSA, op_first);
  SET(TRANSB, op_second);
  if (key->bias && !plan->separate_bias) {
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const cudaDataType_t type = CUDA_R_32F;
    SET(EPILOGUE, epilogue);
    SET(BIAS_DATA_TYPE, type);
  }
#undef SET
  const uint64_t m = (uint64_t)key->m, n = (uint64_t)key->n, k = (uint64_t)key->k;
  const uint64_t first_rows = key->transpose_b ? k : n, first_columns = key->transpose_b ? n : k;
  const uint64_t second_rows = key->transpose_a ? m : k, second_columns = key->transpose_a ? k : m;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = device->libraries.cublaslt.MatrixLayoutCreate(&plan->a, data_type(key->b_dtype), first_rows, first_columns,
                                                           (int64_t)first_rows);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = device->libraries.cublaslt.MatrixLayoutCreate(&plan->b, data_type(key->a_dtype), second_rows,
                                                           second_columns, (int64_t)second_rows);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = device->libraries.cublaslt.MatrixLayoutCreate(&plan->c, data_type(key->c_dtype), n, m, (int64_t)n);
  return status;
}

static pd_status plan_make(pd_device *device, const matmul_key *key, bool separate_bias, matmul_plan **out) {
  *out = NULL;
  matmul_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return device->host->fail(device->host, PD_NO_MEMORY, "cuda: no memory for a matrix plan");
  plan->key = *key;
  plan->separate_bias = separate_bias;
  const cublasStatus_t status = describe(device, plan);
  if (status == CUBLAS_STATUS_SUCCESS && ask_library(device, plan)) {
    *out = plan;
    return PD_OK;
  }
  plan_free(device, plan);
  if (status != CUBLAS_STATUS_SUCCESS) return cuda_cublas_failed(device, status, "describing a matrix product");
  return PD_OK;
}

static pd_status plan_find(pd_device *device, const matmul_key *key, matmul_plan **out) {
  pd_status status = open_library(device);
  if (status != PD_OK) return status;
  for (matmul_plan *plan = device->matmuls->plans; plan; plan = plan->next) {
    if (memcmp(&plan->key, key, sizeof *key) != 0) continue;
    *out = plan;
    return PD_OK;
  }
  matmul_plan *plan;
  status = plan_make(device, key, false, &plan);
  if (status == PD_OK && !plan && key->bias) status = plan_make(device, key, true, &plan);
  if (status != PD_OK) return status;
  if (!plan) {
    (void)device->host->fail(device->host, PD_UNSUPPORTED,
                             "cuBLASLt has no algorithm for a (%lld,%lld) product over %lld", (long long)key->m,
                             (long long)key->n, (long long)key->k);
    return PD_UNSUPPORTED;
  }
  plan->next = device->matmuls->plans;
  device->matmuls->plans = plan;
  *out = plan;
  return PD_OK;
}

/* Whether our own kernel takes the product: small enough that a launch of the library's would cost more than it saves,
 * of no more rows than one grid covers, and read in whole vectors. */
static bool small_fits(const cuda_matmul *m) {
  const int64_t whole = m->ab_dtype == PD_F16 ? 8 : 4;
  const uintptr_t bits = (uintptr_t)m->a | (uintptr_t)m->b | (uintptr_t)m->c;
  if (m->ab_dtype == PD_BF16 || m->c_dtype == PD_BF16) return false;
  if (m->m > SMALL_ROWS || m->m * m->n * m->k > SMALL_PRODUCTS || !m->k || bits % 16 || m->n % 4) return false;
  if (m->transpose_a ? m->m % 4 : m->k % whole) return false;
  return !m->transpose_b || m->k % whole == 0;
}

static uint32_t alignment_of(const pd_tensor *c, const pd_tensor *a, const pd_tensor *b) {
  const uintptr_t bits = (uintptr_t)c->data | (uintptr_t)a->data | (uintptr_t)b->data | 16u;
  return (uint32_t)(bits & (~bits + 1));
}

pd_status cuda_op_matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                         const pd_tensor *b, const pd_tensor *bias, bool transpose_a, bool transpose_b, bool accumulate,
                         bool allow_tf32) {
  OP_REQUIRE(c->rank == 2 && a->rank == 2 && b->rank == 2, "matmul", "not three matrices");
  OP_REQUIRE(tensor_real(c) && tensor_real(a) && b->dtype == a->dtype, "matmul",
             "a and b differ in type, or a type is not a floating-point type");
  const int64_t m = a->shape[transpose_a], k = a->shape[!transpose_a], n = b->shape[!transpose_b];
  OP_REQUIRE(b->shape[transpose_b] == k && c->shape[0] == m && c->shape[1] == n, "matmul", "the shapes do not fit");
  OP_REQUIRE(!bias || tensor_f32_of(bias, n), "matmul", "bias is not one float32 per column");
  if (!m || !n) return PD_OK;
  const cuda_matmul small = {.a = a->data,
                             .b = b->data,
                             .c = c->data,
                             .bias = bias ? bias->data : NULL,
                             .m = m,
                             .n = n,
                             .k = k,
                             .ab_dtype = a->dtype,
                             .c_dtype = c->dtype,
                             .transpose_a = transpose_a,
                             .transpose_b = transpose_b,
                             .accumulate = accumulate,
                             .tf32 = allow_tf32};
  if (small_fits(&small)) OP_LAUNCH("matmul", cuda_matmul_small(&stream->launch, &small));
  matmul_key key;
  memset(&key, 0, sizeof key);
  key.m = m, key.n = n, key.k = k;
  key.c_dtype = c->dtype, key.a_dtype = a->dtype, key.b_dtype = b->dtype;
  key.alignment = alignment_of(c, a, b);
  key.transpose_a = transpose_a, key.transpose_b = transpose_b;
  key.bias = bias != NULL, key.accumulate = accumulate, key.tf32 = allow_tf32;
  pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  matmul_plan *plan = NULL;
  pthread_mutex_lock(&device->lock);
  status = plan_find(device, &key, &plan);
  if (status == PD_OK) status = cuda_workspace(device, stream, MATMUL_WORKSPACE);
  const bool add_bias = status == PD_OK && bias && plan->separate_bias;
  if (status == PD_OK) {
    const float one = 1.0f, beta = accumulate ? 1.0f : 0.0f;
    cublasStatus_t error = CUBLAS_STATUS_SUCCESS;
    if (bias && !add_bias)
      error = device->libraries.cublaslt.MatmulDescSetAttribute(plan->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                                &bias->data, sizeof bias->data);
    if (error == CUBLAS_STATUS_SUCCESS)
      error = device->libraries.cublaslt.Matmul(device->cublaslt, plan->desc, &one, b->data, plan->a, a->data, plan->b,
                                                &beta, c->data, plan->c, c->data, plan->c, &plan->algo,
                                                stream->workspace, stream->workspace_bytes, stream->handle);
    if (error != CUBLAS_STATUS_SUCCESS) status = cuda_cublas_failed(device, error, "cublasLtMatmul");
  }
  pthread_mutex_unlock(&device->lock);
  if (status == PD_OK && add_bias) status = cuda_op_bias_forward(device, stream, c, c, bias);
  return status;
}
