/* What attention needs besides matrix products: softmax over rows, and heads out of the columns and back. */
#include "cpu_ops.h"

#include <math.h>
#include <string.h>

typedef struct softmax_arguments {
  float *out;               /* y, or dx */
  const float *in, *result; /* x, or dy; backward: y */
  int64_t rows, columns;
  float scale;
} softmax_arguments;

static pd_status run_softmax_forward(pd_stream *stream, void *arguments) {
  (void)stream;
  const softmax_arguments *p = arguments;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *x = p->in + r * p->columns;
    float *y = p->out + r * p->columns, top = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < p->columns; i++) top = p->scale * x[i] > top ? p->scale * x[i] : top;
    for (int64_t i = 0; i < p->columns; i++) y[i] = expf(p->scale * x[i] - top);
    for (int64_t i = 0; i < p->columns; i++) sum += (double)y[i];
    const float share = (float)(1 / sum);
    for (int64_t i = 0; i < p->columns; i++) y[i] *= share;
  }
  return PD_OK;
}

/* dx = scale y (dy - sum(dy y)). */
static pd_status run_softmax_backward(pd_stream *stream, void *arguments) {
  (void)stream;
  const softmax_arguments *p = arguments;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *dy = p->in + r * p->columns, *y = p->result + r * p->columns;
    float *dx = p->out + r * p->columns;
    double sum = 0;
    for (int64_t i = 0; i < p->columns; i++) sum += (double)dy[i] * (double)y[i];
    const float along = (float)sum;
    for (int64_t i = 0; i < p->columns; i++) dx[i] = p->scale * y[i] * (dy[i] - along);
  }
  return PD_OK;
}

pd_status cpu_softmax_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                              double scale) {
  static pd_site site = PD_SITE("softmax_forward", 0);
  if (x->rank != 2 || !is_matrix(x, x->shape[0], x->shape[1]) || !is_matrix(y, x->shape[0], x->shape[1]))
    return refuse(device, "softmax_forward");
  const softmax_arguments p = {
      .out = y->data, .in = x->data, .rows = x->shape[0], .columns = x->shape[1], .scale = (float)scale};
  return cpu_stream_kernel(stream, &site, run_softmax_forward, &p, sizeof p);
}

pd_status cpu_softmax_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy,
                               const pd_tensor *y, double scale) {
  static pd_site site = PD_SITE("softmax_backward", 0);
  if (y->rank != 2 || !is_matrix(y, y->shape[0], y->shape[1]) || !is_matrix(dx, y->shape[0], y->shape[1]) ||
      !is_matrix(dy, y->shape[0], y->shape[1]))
    return refuse(device, "softmax_backward");
  const softmax_arguments p = {.out = dx->data,
                               .in = dy->data,
                               .result = y->data,
                               .rows = y->shape[0],
                               .columns = y->shape[1],
                               .scale = (float)scale};
  return cpu_stream_kernel(stream, &site, run_softmax_backward, &p, sizeof p);
}

typedef struct swap_arguments {
  float *y;
  const float *x;
  int64_t a, b, c, d; /* of x */
} swap_arguments;

static pd_status run_swap_middle(pd_stream *stream, void *arguments) {
  (void)stream;
  const swap_arguments *p = arguments;
  for (int64_t a = 0; a < p->a; a++)
    for (int64_t c = 0; c < p->c; c++)
      for (int64_t b = 0; b < p->b; b++)
        memcpy(p->y + ((a * p->c + c) * p->b + b) * p->d, p->x + ((a * p->b + b) * p->c + c) * p->d,
               (size_t)p->d * sizeof *p->y);
  return PD_OK;
}

pd_status cpu_swap_middle(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  static pd_site site = PD_SITE("swap_middle", 0);
  const int64_t *in = x->shape, *out = y->shape;
  if (!is_image(x) || !is_image(y) || x->layout != PD_NCHW || y->layout != PD_NCHW || in[0] != out[0] ||
      in[1] != out[2] || in[2] != out[1] || in[3] != out[3])
    return refuse(device, "swap_middle");
  const swap_arguments p = {y->data, x->data, in[0], in[1], in[2], in[3]};
  return cpu_stream_kernel(stream, &site, run_swap_middle, &p, sizeof p);
}
