/* Matrix products, by oneDNN's sgemm. */
#include "cpu_ops.h"

typedef struct matmul_arguments {
  float *c;
  const float *a, *b, *bias;
  int64_t m, n, k, lda, ldb;
  bool transpose_a, transpose_b, accumulate;
} matmul_arguments;

static pd_status run_matmul(pd_stream *stream, void *arguments) {
  const matmul_arguments *p = arguments;
  const dnnl_status_t status = dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k,
                                          1.0f, p->a, p->lda, p->b, p->ldb, p->accumulate ? 1.0f : 0.0f, p->c, p->n);
  if (status != dnnl_success) return cpu_stream_fail(stream, PD_DEVICE, "dnnl_sgemm: status %d", (int)status);
  for (int64_t row = 0; p->bias && row < p->m; row++)
    for (int64_t column = 0; column < p->n; column++) p->c[row * p->n + column] += p->bias[column];
  return PD_OK;
}

pd_status cpu_matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a, const pd_tensor *b,
                     const pd_tensor *bias, bool transpose_a, bool transpose_b, bool accumulate, bool allow_tf32) {
  static pd_site site = PD_SITE("dnnl_sgemm", 0);
  (void)allow_tf32; /* float32 all the way */
  if (a->rank != 2 || b->rank != 2 || c->rank != 2) return refuse(device, "matmul");
  const matmul_arguments p = {.c = c->data,
                              .a = a->data,
                              .b = b->data,
                              .bias = bias ? bias->data : NULL,
                              .m = a->shape[transpose_a ? 1 : 0],
                              .k = a->shape[transpose_a ? 0 : 1],
                              .n = b->shape[transpose_b ? 0 : 1],
                              .lda = a->shape[1],
                              .ldb = b->shape[1],
                              .transpose_a = transpose_a,
                              .transpose_b = transpose_b,
                              .accumulate = accumulate};
  if (a->dtype != PD_F32 || b->dtype != PD_F32 || b->shape[transpose_b ? 1 : 0] != p.k || !is_matrix(c, p.m, p.n) ||
      (bias && !is_vector(bias, p.n)))
    return refuse(device, "matmul");
  return cpu_stream_kernel(stream, &site, run_matmul, &p, sizeof p);
}
