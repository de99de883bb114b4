/* A cuBLAS that multiplies nothing and keeps the stream it was given last. */
#include <cublas_v2.h>

cudaStream_t fake_cublas_stream;

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
  static int state;
  *handle = (cublasHandle_t)(void *)&state;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  (void)handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  (void)handle;
  fake_cublas_stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  (void)handle;
  (void)mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transpose_a,
                                         cublasOperation_t transpose_b, int m, int n, int k, const float *alpha,
                                         const float *a, int lda, long long stride_a, const float *b, int ldb,
                                         long long stride_b, const float *beta, float *c, int ldc, long long stride_c,
                                         int batches) {
  (void)handle, (void)transpose_a, (void)transpose_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda;
  (void)stride_a, (void)b, (void)ldb, (void)stride_b, (void)beta, (void)c, (void)ldc, (void)stride_c, (void)batches;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes) {
  (void)handle, (void)workspace, (void)bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k, const void *alpha,
                                          const void *a, cudaDataType a_type, int lda, long long stride_a,
                                          const void *b, cudaDataType b_type, int ldb, long long stride_b,
                                          const void *beta, void *c, cudaDataType c_type, int ldc, long long stride_c,
                                          int batches, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  (void)handle, (void)transpose_a, (void)transpose_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)a_type;
  (void)lda, (void)stride_a, (void)b, (void)b_type, (void)ldb, (void)stride_b, (void)beta, (void)c, (void)c_type;
  (void)ldc, (void)stride_c, (void)batches, (void)compute, (void)algorithm;
  return CUBLAS_STATUS_SUCCESS;
}
