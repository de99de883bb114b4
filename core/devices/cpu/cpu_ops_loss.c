/* Softmax cross entropy. */
#include "cpu_ops.h"

#include <math.h>

typedef struct loss_arguments {
  float *loss, *probs; /* forward */
  const float *logits;
  const int64_t *labels;
  float *dlogits; /* backward */
  const float *scale;
  int64_t rows, columns;
} loss_arguments;

static pd_status bad_label(pd_stream *stream, const loss_arguments *p, int64_t row) {
  return cpu_stream_fail(stream, PD_INVALID, "cross_entropy: label %lld of row %lld is not in 0..%lld",
                         (long long)p->labels[row], (long long)row, (long long)p->columns - 1);
}

static pd_status run_forward(pd_stream *stream, void *arguments) {
  const loss_arguments *p = arguments;
  double total = 0;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *logits = p->logits + r * p->columns;
    float *probs = p->probs + r * p->columns;
    const int64_t label = p->labels[r];
    if (label < 0 || label >= p->columns) return bad_label(stream, p, r);
    double largest = (double)logits[0], sum = 0;
    for (int64_t i = 1; i < p->columns; i++) largest = fmax(largest, (double)logits[i]);
    for (int64_t i = 0; i < p->columns; i++) sum += exp((double)logits[i] - largest);
    for (int64_t i = 0; i < p->columns; i++) probs[i] = (float)(exp((double)logits[i] - largest) / sum);
    /* sum >= 1: the largest logit adds exp(0). */
    total += log(sum) + largest - (double)logits[label];
  }
  p->loss[0] = (float)(total / (double)p->rows);
  return PD_OK;
}

static pd_status run_backward(pd_stream *stream, void *arguments) {
  const loss_arguments *p = arguments;
  const float factor = (p->scale ? p->scale[0] : 1.0f) / (float)p->rows;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *probs = p->probs + r * p->columns;
    float *dlogits = p->dlogits + r * p->columns;
    if (p->labels[r] < 0 || p->labels[r] >= p->columns) return bad_label(stream, p, r);
    for (int64_t i = 0; i < p->columns; i++) dlogits[i] = probs[i] * factor;
    dlogits[p->labels[r]] -= factor;
  }
  return PD_OK;
}

static bool are_labels(const pd_tensor *labels, int64_t rows) {
  return labels->dtype == PD_I64 && tensor_count(labels) == rows;
}

pd_status cpu_cross_entropy_forward(pd_device *device, pd_stream *stream, const pd_tensor *loss, const pd_tensor *probs,
                                    const pd_tensor *logits, const pd_tensor *labels) {
  static pd_site site = PD_SITE("cross_entropy_forward", 0);
  if (logits->rank != 2) return refuse(device, "cross_entropy_forward");
  const int64_t rows = logits->shape[0], columns = logits->shape[1];
  if (!is_matrix(logits, rows, columns) || !is_matrix(probs, rows, columns) || !is_vector(loss, 1) || rows == 0 ||
      !are_labels(labels, rows))
    return refuse(device, "cross_entropy_forward");
  const loss_arguments p = {.loss = loss->data,
                            .probs = probs->data,
                            .logits = logits->data,
                            .labels = labels->data,
                            .rows = rows,
                            .columns = columns};
  return cpu_stream_kernel(stream, &site, run_forward, &p, sizeof p);
}

pd_status cpu_cross_entropy_backward(pd_device *device, pd_stream *stream, const pd_tensor *dlogits,
                                     const pd_tensor *probs, const pd_tensor *labels, const pd_tensor *scale) {
  static pd_site site = PD_SITE("cross_entropy_backward", 0);
  if (probs->rank != 2) return refuse(device, "cross_entropy_backward");
  const int64_t rows = probs->shape[0], columns = probs->shape[1];
  if (!is_matrix(probs, rows, columns) || !is_matrix(dlogits, rows, columns) || !are_labels(labels, rows) ||
      (scale && !is_vector(scale, 1)))
    return refuse(device, "cross_entropy_backward");
  const loss_arguments p = {.probs = probs->data,
                            .labels = labels->data,
                            .dlogits = dlogits->data,
                            .scale = scale ? scale->data : NULL,
                            .rows = rows,
                            .columns = columns};
  return cpu_stream_kernel(stream, &site, run_backward, &p, sizeof p);
}
