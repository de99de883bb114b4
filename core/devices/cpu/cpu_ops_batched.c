/* Operations over many small rows or matrices at once: their sums, and a matrix product each by oneDNN's sgemm. */
#include "cpu_ops.h"

typedef struct sum_arguments {
  float *y;
  const float *x;
  int64_t rows, columns;
} sum_arguments;

static pd_status run_sum_rows(pd_stream *stream, void *arguments) {
  (void)stream;
  const sum_arguments *p = arguments;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *x = p->x + r * p->columns;
    double sum = 0;
    for (int64_t i = 0; i < p->columns; i++) sum += (double)x[i];
    p->y[r] = (float)sum;
  }
  return PD_OK;
}

pd_status cpu_sum_rows(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  static pd_site site = PD_SITE("sum_rows", 0);
  if (x->rank != 2 || x->dtype != PD_F32 || !is_vector(y, x->shape[0])) return refuse(device, "sum_rows");
  const sum_arguments p = {.y = y->data, .x = x->data, .rows = x->shape[0], .columns = x->shape[1]};
  return cpu_stream_kernel(stream, &site, run_sum_rows, &p, sizeof p);
}

typedef struct batched_arguments {
  float *c;
  const float *a, *b;
  int64_t batches, m, n, k, lda, ldb;
  bool transpose_a, transpose_b;
} batched_arguments;

static pd_status run_batched_matmul(pd_stream *stream, void *arguments) {
  const batched_arguments *p = arguments;
  for (int64_t i = 0; i < p->batches; i++) {
    const dnnl_status_t status =
        dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k, 1.0f,
                   p->a + i * p->m * p->k, p->lda, p->b + i * p->k * p->n, p->ldb, 0.0f, p->c + i * p->m * p->n, p->n);
    if (status != dnnl_success) return cpu_stream_fail(stream, PD_DEVICE, "dnnl_sgemm: status %d", (int)status);
  }
  return PD_OK;
}

pd_status cpu_batched_matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                             const pd_tensor *b, bool transpose_a, bool transpose_b, bool allow_tf32) {
  static pd_site site = PD_SITE("dnnl_sgemm_batched", 0);
  (void)allow_tf32; /* float32 all the way */
  if (a->rank != 3 || b->rank != 3 || c->rank != 3 || a->dtype != PD_F32 || b->dtype != PD_F32 || c->dtype != PD_F32)
    return refuse(device, "batched_matmul");
  const batched_arguments p = {.c = c->data,
                               .a = a->data,
                               .b = b->data,
                               .batches = a->shape[0],
                               .m = a->shape[transpose_a ? 2 : 1],
                               .k = a->shape[transpose_a ? 1 : 2],
                               .n = b->shape[transpose_b ? 1 : 2],
                               .lda = a->shape[2],
                               .ldb = b->shape[2],
                               .transpose_a = transpose_a,
                               .transpose_b = transpose_b};
  if (b->shape[0] != p.batches || c->shape[0] != p.batches || b->shape[transpose_b ? 2 : 1] != p.k ||
      c->shape[1] != p.m || c->shape[2] != p.n)
    return refuse(device, "batched_matmul");
  return cpu_stream_kernel(stream, &site, run_batched_matmul, &p, sizeof p);
}
