/* Convolutions, their bias and the mean over H and W. */
#include "cpu_ops.h"
#include "cpu_plans.h"

#include <string.h>

typedef struct conv_arguments {
  plan_key key;
  float *x, *w, *bias, *y;
} conv_arguments;

static pd_status run_conv(pd_stream *stream, void *arguments) {
  const conv_arguments *a = arguments;
  return cpu_plans_run(stream, &a->key, a->x, a->w, a->bias, a->y);
}

/* Whether x, w and y are the three tensors of one convolution. */
static bool fits(const pd_tensor *x, const pd_tensor *w, const pd_tensor *y, const pd_conv2d *conv) {
  if (!is_image(x) || !is_image(w) || !is_image(y) || conv->stride == 0) return false;
  if (x->layout != y->layout || x->layout != w->layout || w->shape[2] != w->shape[3]) return false;
  const int64_t k = w->shape[2], p = conv->padding, s = conv->stride;
  return x->shape[0] == y->shape[0] && x->shape[1] == w->shape[1] && y->shape[1] == w->shape[0] &&
         y->shape[2] == (x->shape[2] + 2 * p - k) / s + 1 && y->shape[3] == (x->shape[3] + 2 * p - k) / s + 1;
}

static conv_arguments arguments_of(plan_kind kind, const pd_tensor *x, const pd_tensor *w, const pd_tensor *bias,
                                   const pd_tensor *y, bool relu, const pd_conv2d *conv) {
  conv_arguments a;
  memset(&a, 0, sizeof a);
  a.key = (plan_key){.kind = kind,
                     .layout = x->layout,
                     .bias = bias != NULL,
                     .relu = relu,
                     .n = x->shape[0],
                     .i = x->shape[1],
                     .o = w->shape[0],
                     .h = x->shape[2],
                     .w = x->shape[3],
                     .kernel = w->shape[2],
                     .stride = conv->stride,
                     .padding = conv->padding};
  a.x = x->data;
  a.w = w->data;
  a.bias = bias ? bias->data : NULL;
  a.y = y->data;
  return a;
}

pd_status cpu_conv2d_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                             const pd_tensor *w, const pd_tensor *bias, bool relu, const pd_conv2d *conv) {
  static pd_site site = PD_SITE("dnnl_conv2d_forward", 0);
  if (!fits(x, w, y, conv) || (bias && !is_vector(bias, w->shape[0]))) return refuse(device, "conv2d_forward");
  const conv_arguments a = arguments_of(PLAN_FORWARD, x, w, bias, y, relu, conv);
  return cpu_stream_kernel(stream, &site, run_conv, &a, sizeof a);
}

pd_status cpu_conv2d_backward_data(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy,
                                   const pd_tensor *w, const pd_conv2d *conv) {
  static pd_site site = PD_SITE("dnnl_conv2d_backward_data", 0);
  if (!fits(dx, w, dy, conv)) return refuse(device, "conv2d_backward_data");
  const conv_arguments a = arguments_of(PLAN_BACKWARD_DATA, dx, w, NULL, dy, false, conv);
  return cpu_stream_kernel(stream, &site, run_conv, &a, sizeof a);
}

pd_status cpu_conv2d_backward_weight(pd_device *device, pd_stream *stream, const pd_tensor *dw, const pd_tensor *dy,
                                     const pd_tensor *x, const pd_conv2d *conv) {
  static pd_site site = PD_SITE("dnnl_conv2d_backward_weight", 0);
  if (!fits(x, dw, dy, conv)) return refuse(device, "conv2d_backward_weight");
  const conv_arguments a = arguments_of(PLAN_BACKWARD_WEIGHT, x, dw, NULL, dy, false, conv);
  return cpu_stream_kernel(stream, &site, run_conv, &a, sizeof a);
}

/* A tensor as (outer, channels, inner): NCHW (N, C, H*W); NHWC (N*H*W, C, 1); rank 2 (R, D, 1). */
typedef struct channel_view {
  int64_t outer, channels, inner;
} channel_view;

static bool view_of(const pd_tensor *t, channel_view *view) {
  if (t->dtype != PD_F32 || (t->rank != 2 && t->rank != 4)) return false;
  const int64_t inner = t->rank == 4 ? t->shape[2] * t->shape[3] : 1;
  *view = t->rank == 4 && t->layout == PD_NHWC ? (channel_view){t->shape[0] * inner, t->shape[1], 1}
                                               : (channel_view){t->shape[0], t->shape[1], inner};
  return true;
}

typedef struct bias_arguments {
  channel_view view;
  float *out, *db;
  const float *in, *bias, *y;
  bool accumulate;
} bias_arguments;

static pd_status run_bias_forward(pd_stream *stream, void *arguments) {
  (void)stream;
  const bias_arguments *a = arguments;
  const channel_view v = a->view;
  for (int64_t o = 0; o < v.outer; o++)
    for (int64_t c = 0; c < v.channels; c++) {
      const int64_t at = (o * v.channels + c) * v.inner;
      for (int64_t i = 0; i < v.inner; i++) a->out[at + i] = a->in[at + i] + a->bias[c];
    }
  return PD_OK;
}

pd_status cpu_bias_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                           const pd_tensor *bias) {
  static pd_site site = PD_SITE("bias_forward", 0);
  bias_arguments a = {.out = y->data, .in = x->data, .bias = bias->data};
  if (!view_of(x, &a.view) || !same_shape(x, y) || y->dtype != PD_F32 || !is_vector(bias, a.view.channels))
    return refuse(device, "bias_forward");
  return cpu_stream_kernel(stream, &site, run_bias_forward, &a, sizeof a);
}

/* dx = dy where y > 0; loops apart, so that each can be vectorised. */
static void mask(float *dx, const float *dy, const float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
}

enum { LANES = 8, CHANNELS = 256 };

/* Sums of rows of `columns` numbers, `stride` apart, CHANNELS of them at most, in double: the reduction is long. */
static void sum_rows(double *sums, const float *in, int64_t rows, int64_t columns, int64_t stride) {
  for (int64_t c = 0; c < columns; c++) sums[c] = 0;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t c = 0; c < columns; c++) sums[c] += (double)in[row * stride + c];
}

static double sum_of(const float *in, int64_t count) {
  double lanes[LANES] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] += (double)in[i + k];
  for (; i < count; i++) sum += (double)in[i];
  for (int k = 0; k < LANES; k++) sum += lanes[k];
  return sum;
}

static pd_status run_bias_backward(pd_stream *stream, void *arguments) {
  (void)stream;
  const bias_arguments *a = arguments;
  const channel_view v = a->view;
  const float *in = a->in;
  double sums[CHANNELS];
  if (a->y) {
    mask(a->out, a->in, a->y, v.outer * v.channels * v.inner);
    in = a->out;
  }
  for (int64_t first = 0; first < v.channels; first += CHANNELS) {
    const int64_t count = v.channels - first < CHANNELS ? v.channels - first : CHANNELS;
    if (v.inner == 1) {
      sum_rows(sums, in + first, v.outer, count, v.channels);
    } else {
      for (int64_t c = 0; c < count; c++) {
        sums[c] = 0;
        for (int64_t o = 0; o < v.outer; o++) sums[c] += sum_of(in + (o * v.channels + first + c) * v.inner, v.inner);
      }
    }
    for (int64_t c = 0; c < count; c++)
      a->db[first + c] = (float)((a->accumulate ? (double)a->db[first + c] : 0) + sums[c]);
  }
  return PD_OK;
}

pd_status cpu_bias_backward(pd_device *device, pd_stream *stream, const pd_tensor *db, const pd_tensor *dy,
                            bool accumulate) {
  static pd_site site = PD_SITE("bias_backward", 0);
  bias_arguments a = {.db = db->data, .in = dy->data, .accumulate = accumulate};
  if (!view_of(dy, &a.view) || !is_vector(db, a.view.channels)) return refuse(device, "bias_backward");
  return cpu_stream_kernel(stream, &site, run_bias_backward, &a, sizeof a);
}

pd_status cpu_bias_relu_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *db,
                                 const pd_tensor *dy, const pd_tensor *y) {
  static pd_site site = PD_SITE("bias_relu_backward", 0);
  bias_arguments a = {.out = dx->data, .db = db->data, .in = dy->data, .y = y->data};
  if (!view_of(dy, &a.view) || !same_shape(dx, dy) || !same_shape(y, dy) || !is_vector(db, a.view.channels))
    return refuse(device, "bias_relu_backward");
  return cpu_stream_kernel(stream, &site, run_bias_backward, &a, sizeof a);
}

typedef struct mean_hw_arguments {
  float *out;
  const float *in;
  int64_t n, c, hw;
  bool last; /* NHWC */
} mean_hw_arguments;

static pd_status run_mean_hw_forward(pd_stream *stream, void *arguments) {
  (void)stream;
  const mean_hw_arguments *a = arguments;
  for (int64_t n = 0; n < a->n; n++)
    for (int64_t c = 0; c < a->c; c++) {
      const float *in = a->in + (a->last ? n * a->hw * a->c + c : (n * a->c + c) * a->hw);
      double sum = 0;
      for (int64_t i = 0; i < a->hw; i++) sum += (double)in[a->last ? i * a->c : i];
      a->out[n * a->c + c] = (float)(sum / (double)a->hw);
    }
  return PD_OK;
}

static pd_status run_mean_hw_backward(pd_stream *stream, void *arguments) {
  (void)stream;
  const mean_hw_arguments *a = arguments;
  for (int64_t n = 0; n < a->n; n++)
    for (int64_t c = 0; c < a->c; c++) {
      float *out = a->out + (a->last ? n * a->hw * a->c + c : (n * a->c + c) * a->hw);
      const float gradient = a->in[n * a->c + c] / (float)a->hw;
      for (int64_t i = 0; i < a->hw; i++) out[a->last ? i * a->c : i] = gradient;
    }
  return PD_OK;
}

static bool mean_hw_arguments_of(const pd_tensor *image, const pd_tensor *matrix, mean_hw_arguments *a) {
  if (!is_image(image) || !is_matrix(matrix, image->shape[0], image->shape[1])) return false;
  a->n = image->shape[0];
  a->c = image->shape[1];
  a->hw = image->shape[2] * image->shape[3];
  a->last = image->layout == PD_NHWC;
  return true;
}

pd_status cpu_mean_hw_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  static pd_site site = PD_SITE("mean_hw_forward", 0);
  mean_hw_arguments a = {.out = y->data, .in = x->data};
  if (!mean_hw_arguments_of(x, y, &a)) return refuse(device, "mean_hw_forward");
  return cpu_stream_kernel(stream, &site, run_mean_hw_forward, &a, sizeof a);
}

pd_status cpu_mean_hw_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy) {
  static pd_site site = PD_SITE("mean_hw_backward", 0);
  mean_hw_arguments a = {.out = dx->data, .in = dy->data};
  if (!mean_hw_arguments_of(dx, dy, &a)) return refuse(device, "mean_hw_backward");
  return cpu_stream_kernel(stream, &site, run_mean_hw_backward, &a, sizeof a);
}
