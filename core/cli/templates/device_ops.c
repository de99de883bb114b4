/* The operations of new_device: float32, (N,C,H,W), plain loops. Their meaning is in pdhost/device.h. */
#include "new_device.h"

#include <math.h>
#include <string.h>

/* Each operation is one kernel: KERNEL("name") before its loops, DONE after them. */
#define KERNEL(name)                                                                                                   \
  static pd_site kernel = PD_SITE("new_device_" name, 0);                                                              \
  device_work work;                                                                                                    \
  (void)stream;                                                                                                        \
  device_begin_kernel(device, &work, &kernel)
#define DONE                                                                                                           \
  device_end(device, &work);                                                                                           \
  return PD_OK

typedef const pd_tensor *tensor;
static float *values(tensor x) { return x->data; }

static int64_t count_of(tensor x) {
  int64_t count = 1;
  for (uint32_t i = 0; i < x->rank; i++) count *= x->shape[i];
  return count;
}

/* Height times width of an image; 1 of a matrix. */
static int64_t inner_of(tensor x) { return x->rank == 4 ? x->shape[2] * x->shape[3] : 1; }

static pd_status refuse(pd_device *device, const char *operation) {
  return device->host->fail(device->host, PD_INVALID, "new_device: %s: shapes or types do not fit", operation);
}

static bool all_f32(tensor a, tensor b, tensor c) {
  return a->dtype == PD_F32 && b->dtype == PD_F32 && c->dtype == PD_F32;
}

static bool supports(pd_device *device, pd_dtype dtype, pd_layout layout) {
  (void)device;
  return dtype == PD_F32 && layout == PD_NCHW;
}

/* ---- filling and copying ---- */

static pd_status fill(pd_device *device, pd_stream *stream, tensor y, double value) {
  if (y->dtype != PD_F32 && y->dtype != PD_I64 && y->dtype != PD_I32) return refuse(device, "fill");
  KERNEL("fill");
  for (int64_t i = 0; i < count_of(y); i++) {
    if (y->dtype == PD_F32) values(y)[i] = (float)value;
    if (y->dtype == PD_I64) ((int64_t *)y->data)[i] = (int64_t)value;
    if (y->dtype == PD_I32) ((int32_t *)y->data)[i] = (int32_t)value;
  }
  DONE;
}

/* A number of (seed, at) alone: the mixing of splitmix64. */
static uint64_t mixed(uint64_t seed, uint64_t at) {
  uint64_t z = seed + (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static double uniform(uint64_t bits) { return ((double)(bits >> 11) + 0.5) / 9007199254740992.0; }

static pd_status randn(pd_device *device, pd_stream *stream, tensor y, uint64_t seed, uint64_t offset) {
  if (y->dtype != PD_F32) return refuse(device, "randn");
  KERNEL("randn");
  for (int64_t i = 0; i < count_of(y); i++) {
    const uint64_t at = 2 * (offset + (uint64_t)i);
    const double radius = sqrt(-2 * log(uniform(mixed(seed, at))));
    values(y)[i] = (float)(radius * cos(6.283185307179586 * uniform(mixed(seed, at + 1))));
  }
  DONE;
}

static pd_status convert(pd_device *device, pd_stream *stream, tensor y, tensor x) {
  if (y->dtype != PD_F32 || x->dtype != PD_F32 || y->layout != x->layout || count_of(y) != count_of(x))
    return refuse(device, "convert");
  KERNEL("convert");
  memmove(y->data, x->data, (size_t)count_of(x) * sizeof(float));
  DONE;
}

static pd_status copy_columns(pd_device *device, pd_stream *stream, tensor y, int64_t y_column, tensor x,
                              int64_t x_column, int64_t columns) {
  if (!all_f32(x, y, y) || x->rank != 2 || y->rank != 2 || x->shape[0] != y->shape[0] || y_column < 0 || x_column < 0 ||
      y_column + columns > y->shape[1] || x_column + columns > x->shape[1])
    return refuse(device, "copy_columns");
  KERNEL("copy_columns");
  for (int64_t row = 0; row < x->shape[0]; row++)
    memcpy(values(y) + row * y->shape[1] + y_column, values(x) + row * x->shape[1] + x_column,
           (size_t)columns * sizeof(float));
  DONE;
}

/* ---- one element after the other ---- */

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

static float one_element(pd_elementwise op, float a, float b, float alpha) {
  switch (op) {
  case PD_EW_ADD: return a + alpha * b;
  case PD_EW_MUL: return a * b;
  case PD_EW_SCALE: return alpha * a;
  case PD_EW_RELU: return a > 0 ? a : 0;
  case PD_EW_TANH: return tanhf(a);
  case PD_EW_SIGMOID: return sigmoid(a);
  case PD_EW_RELU_BACKWARD: return b > 0 ? a : 0;
  case PD_EW_TANH_BACKWARD: return a * (1 - b * b);
  default: return a * b * (1 - b); /* PD_EW_SIGMOID_BACKWARD */
  }
}

static bool takes_two(pd_elementwise op) { return op <= PD_EW_MUL || op >= PD_EW_RELU_BACKWARD; }

static pd_status elementwise(pd_device *device, pd_stream *stream, pd_elementwise op, tensor y, tensor a, tensor b,
                             double alpha) {
  const int64_t count = count_of(y);
  const bool two = takes_two(op);
  if (op < PD_EW_ADD || op > PD_EW_SIGMOID_BACKWARD || (two && !b) || !all_f32(y, a, two ? b : a) ||
      count_of(a) != count)
    return refuse(device, "elementwise");
  const bool one = two && op == PD_EW_ADD && count_of(b) == 1;
  if (two && !one && count_of(b) != count) return refuse(device, "elementwise");
  KERNEL("elementwise");
  for (int64_t i = 0; i < count; i++)
    values(y)[i] = one_element(op, values(a)[i], two ? values(b)[one ? 0 : i] : 0, (float)alpha);
  DONE;
}

static pd_status mean(pd_device *device, pd_stream *stream, tensor y, tensor x) {
  if (!all_f32(x, y, y) || count_of(y) != 1) return refuse(device, "mean");
  KERNEL("mean");
  double sum = 0;
  for (int64_t i = 0; i < count_of(x); i++) sum += (double)values(x)[i];
  values(y)[0] = (float)(sum / (double)count_of(x));
  DONE;
}

/* ---- convolution ---- */

static bool convolution_fits(tensor y, tensor x, tensor w, const pd_conv2d *conv) {
  if (!all_f32(y, x, w) || y->rank != 4 || x->rank != 4 || w->rank != 4 || y->layout || x->layout || w->layout ||
      conv->stride == 0 || x->shape[0] != y->shape[0] || x->shape[1] != w->shape[1] || y->shape[1] != w->shape[0])
    return false;
  for (int d = 2; d < 4; d++)
    if ((x->shape[d] + 2 * (int64_t)conv->padding - w->shape[d]) / (int64_t)conv->stride + 1 != y->shape[d])
      return false;
  return true;
}

/* Which of the three is the result. */
typedef enum { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHT } direction;

/* Every product of the convolution that one element of y takes part in. */
static void one_output(direction what, tensor y, tensor x, tensor w, const pd_conv2d *conv, const int64_t at[4]) {
  const int64_t *xs = x->shape, *ws = w->shape;
  float *y_at = values(y) + ((at[0] * y->shape[1] + at[1]) * y->shape[2] + at[2]) * y->shape[3] + at[3];
  float sum = 0;
  for (int64_t i = 0; i < ws[1]; i++)
    for (int64_t r = 0; r < ws[2]; r++)
      for (int64_t s = 0; s < ws[3]; s++) {
        const int64_t h = at[2] * conv->stride + r - conv->padding, v = at[3] * conv->stride + s - conv->padding;
        if (h < 0 || h >= xs[2] || v < 0 || v >= xs[3]) continue;
        float *x_at = values(x) + ((at[0] * xs[1] + i) * xs[2] + h) * xs[3] + v;
        float *w_at = values(w) + ((at[1] * ws[1] + i) * ws[2] + r) * ws[3] + s;
        if (what == FORWARD)
          sum += *x_at * *w_at;
        else if (what == BACKWARD_DATA)
          *x_at += *y_at * *w_at;
        else
          *w_at += *y_at * *x_at;
      }
  if (what == FORWARD) *y_at = sum;
}

static void convolve(direction what, tensor y, tensor x, tensor w, const pd_conv2d *conv) {
  int64_t at[4];
  if (what == BACKWARD_DATA) memset(x->data, 0, (size_t)count_of(x) * sizeof(float));
  if (what == BACKWARD_WEIGHT) memset(w->data, 0, (size_t)count_of(w) * sizeof(float));
  for (at[0] = 0; at[0] < y->shape[0]; at[0]++)
    for (at[1] = 0; at[1] < y->shape[1]; at[1]++)
      for (at[2] = 0; at[2] < y->shape[2]; at[2]++)
        for (at[3] = 0; at[3] < y->shape[3]; at[3]++) one_output(what, y, x, w, conv, at);
}

static pd_status conv2d_forward(pd_device *device, pd_stream *stream, tensor y, tensor x, tensor w, tensor bias,
                                bool relu, const pd_conv2d *conv) {
  if (!convolution_fits(y, x, w, conv) || (bias && count_of(bias) != w->shape[0]))
    return refuse(device, "conv2d_forward");
  KERNEL("conv2d_forward");
  convolve(FORWARD, y, x, w, conv);
  for (int64_t i = 0; i < count_of(y); i++) {
    float *at = values(y) + i;
    if (bias) *at += values(bias)[i / inner_of(y) % y->shape[1]];
    if (relu && *at < 0) *at = 0;
  }
  DONE;
}

static pd_status conv2d_backward_data(pd_device *device, pd_stream *stream, tensor dx, tensor dy, tensor w,
                                      const pd_conv2d *conv) {
  if (!convolution_fits(dy, dx, w, conv)) return refuse(device, "conv2d_backward_data");
  KERNEL("conv2d_backward_data");
  convolve(BACKWARD_DATA, dy, dx, w, conv);
  DONE;
}

static pd_status conv2d_backward_weight(pd_device *device, pd_stream *stream, tensor dw, tensor dy, tensor x,
                                        const pd_conv2d *conv) {
  if (!convolution_fits(dy, x, dw, conv)) return refuse(device, "conv2d_backward_weight");
  KERNEL("conv2d_backward_weight");
  convolve(BACKWARD_WEIGHT, dy, x, dw, conv);
  DONE;
}

/* ---- bias and pooling ---- */

static bool per_channel(tensor x, tensor channels) {
  return (x->rank == 2 || x->rank == 4) && !x->layout && count_of(channels) == x->shape[1];
}

static pd_status bias_forward(pd_device *device, pd_stream *stream, tensor y, tensor x, tensor bias) {
  if (!all_f32(y, x, bias) || !per_channel(x, bias) || count_of(y) != count_of(x))
    return refuse(device, "bias_forward");
  KERNEL("bias_forward");
  for (int64_t i = 0; i < count_of(x); i++) values(y)[i] = values(x)[i] + values(bias)[i / inner_of(x) % x->shape[1]];
  DONE;
}

static pd_status bias_backward(pd_device *device, pd_stream *stream, tensor db, tensor dy, bool accumulate) {
  if (!all_f32(db, dy, dy) || !per_channel(dy, db)) return refuse(device, "bias_backward");
  KERNEL("bias_backward");
  if (!accumulate) memset(db->data, 0, (size_t)count_of(db) * sizeof(float));
  for (int64_t i = 0; i < count_of(dy); i++) values(db)[i / inner_of(dy) % dy->shape[1]] += values(dy)[i];
  DONE;
}

static bool pools(tensor image, tensor matrix) {
  return image->rank == 4 && !image->layout && count_of(matrix) == image->shape[0] * image->shape[1];
}

static pd_status mean_hw_forward(pd_device *device, pd_stream *stream, tensor y, tensor x) {
  if (!all_f32(y, x, x) || !pools(x, y)) return refuse(device, "mean_hw_forward");
  KERNEL("mean_hw_forward");
  const int64_t inner = inner_of(x);
  for (int64_t row = 0; row < count_of(y); row++) {
    double sum = 0;
    for (int64_t i = 0; i < inner; i++) sum += (double)values(x)[row * inner + i];
    values(y)[row] = (float)(sum / (double)inner);
  }
  DONE;
}

static pd_status mean_hw_backward(pd_device *device, pd_stream *stream, tensor dx, tensor dy) {
  if (!all_f32(dx, dy, dy) || !pools(dx, dy)) return refuse(device, "mean_hw_backward");
  KERNEL("mean_hw_backward");
  const int64_t inner = inner_of(dx);
  for (int64_t i = 0; i < count_of(dx); i++) values(dx)[i] = values(dy)[i / inner] / (float)inner;
  DONE;
}

/* ---- matrices ---- */

static pd_status matmul(pd_device *device, pd_stream *stream, tensor c, tensor a, tensor b, tensor bias, bool turn_a,
                        bool turn_b, bool accumulate, bool allow_tf32) {
  (void)allow_tf32;
  if (!all_f32(c, a, b) || c->rank != 2 || a->rank != 2 || b->rank != 2) return refuse(device, "matmul");
  const int64_t rows = c->shape[0], columns = c->shape[1], depth = a->shape[turn_a ? 0 : 1];
  if (a->shape[turn_a ? 1 : 0] != rows || b->shape[turn_b ? 1 : 0] != depth || b->shape[turn_b ? 0 : 1] != columns ||
      (bias && count_of(bias) != columns))
    return refuse(device, "matmul");
  KERNEL("matmul");
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column++) {
      float sum = bias ? values(bias)[column] : 0;
      for (int64_t i = 0; i < depth; i++)
        sum += values(a)[turn_a ? i * rows + row : row * depth + i] *
               values(b)[turn_b ? column * depth + i : i * columns + column];
      float *at = values(c) + row * columns + column;
      *at = accumulate ? *at + sum : sum;
    }
  DONE;
}

/* ---- layer norm ---- */

static bool normalises(tensor x, tensor per_row, tensor per_column) {
  return x->rank == 2 && all_f32(x, per_row, per_column) && count_of(per_row) == x->shape[0] &&
         count_of(per_column) == x->shape[1];
}

static pd_status layer_norm_forward(pd_device *device, pd_stream *stream, tensor y, tensor means, tensor rstd, tensor x,
                                    tensor gamma, tensor beta, double eps) {
  if (!normalises(x, means, gamma) || !normalises(y, rstd, beta) || count_of(y) != count_of(x))
    return refuse(device, "layer_norm_forward");
  KERNEL("layer_norm_forward");
  const int64_t columns = x->shape[1];
  for (int64_t row = 0; row < x->shape[0]; row++) {
    const float *from = values(x) + row * columns;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < columns; i++) sum += (double)from[i];
    const double middle = sum / (double)columns;
    for (int64_t i = 0; i < columns; i++) squares += ((double)from[i] - middle) * ((double)from[i] - middle);
    const double scale = 1 / sqrt(squares / (double)columns + eps);
    values(means)[row] = (float)middle;
    values(rstd)[row] = (float)scale;
    for (int64_t i = 0; i < columns; i++)
      values(y)[row * columns + i] = (float)(((double)from[i] - middle) * scale) * values(gamma)[i] + values(beta)[i];
  }
  DONE;
}

static pd_status layer_norm_backward(pd_device *device, pd_stream *stream, tensor dx, tensor dgamma, tensor dbeta,
                                     tensor dy, tensor x, tensor means, tensor rstd, tensor gamma, bool accumulate) {
  if (!normalises(x, means, gamma) || !normalises(dy, rstd, dgamma) || !normalises(dx, rstd, dbeta))
    return refuse(device, "layer_norm_backward");
  KERNEL("layer_norm_backward");
  const int64_t columns = x->shape[1];
  if (!accumulate) {
    memset(dgamma->data, 0, (size_t)columns * sizeof(float));
    memset(dbeta->data, 0, (size_t)columns * sizeof(float));
  }
  for (int64_t row = 0; row < x->shape[0]; row++) {
    const float *grad = values(dy) + row * columns, *from = values(x) + row * columns;
    const double middle = (double)values(means)[row], scale = (double)values(rstd)[row];
    double sum = 0, product = 0;
    for (int64_t i = 0; i < columns; i++) {
      const double normal = ((double)from[i] - middle) * scale, down = (double)grad[i] * (double)values(gamma)[i];
      sum += down;
      product += down * normal;
      values(dgamma)[i] += (float)((double)grad[i] * normal);
      values(dbeta)[i] += grad[i];
    }
    for (int64_t i = 0; i < columns; i++) {
      const double normal = ((double)from[i] - middle) * scale, down = (double)grad[i] * (double)values(gamma)[i];
      values(dx)[row * columns + i] = (float)(scale * (down - (sum + normal * product) / (double)columns));
    }
  }
  DONE;
}

/* ---- loss ---- */

static bool classifies(tensor probs, tensor logits, tensor labels) {
  return probs->rank == 2 && all_f32(probs, logits, logits) && count_of(probs) == count_of(logits) &&
         labels->dtype == PD_I64 && count_of(labels) == probs->shape[0];
}

static pd_status cross_entropy_forward(pd_device *device, pd_stream *stream, tensor loss, tensor probs, tensor logits,
                                       tensor labels) {
  if (!classifies(probs, logits, labels) || loss->dtype != PD_F32 || count_of(loss) != 1)
    return refuse(device, "cross_entropy_forward");
  KERNEL("cross_entropy_forward");
  const int64_t rows = probs->shape[0], columns = probs->shape[1];
  double total = 0;
  for (int64_t row = 0; row < rows; row++) {
    const float *from = values(logits) + row * columns;
    float largest = from[0];
    double sum = 0;
    for (int64_t i = 0; i < columns; i++) largest = fmaxf(largest, from[i]);
    for (int64_t i = 0; i < columns; i++) sum += exp((double)(from[i] - largest));
    for (int64_t i = 0; i < columns; i++)
      values(probs)[row * columns + i] = (float)(exp((double)(from[i] - largest)) / sum);
    total += log(sum) - (double)(from[((const int64_t *)labels->data)[row]] - largest);
  }
  values(loss)[0] = (float)(total / (double)rows);
  DONE;
}

static pd_status cross_entropy_backward(pd_device *device, pd_stream *stream, tensor dlogits, tensor probs,
                                        tensor labels, tensor scale) {
  if (!classifies(probs, dlogits, labels)) return refuse(device, "cross_entropy_backward");
  KERNEL("cross_entropy_backward");
  const int64_t rows = probs->shape[0], columns = probs->shape[1];
  const float by = (scale ? values(scale)[0] : 1) / (float)rows;
  for (int64_t i = 0; i < rows * columns; i++) {
    const bool hit = i % columns == ((const int64_t *)labels->data)[i / columns];
    values(dlogits)[i] = (values(probs)[i] - (hit ? 1.0F : 0.0F)) * by;
  }
  DONE;
}

/* ---- optimiser ---- */

static void update(const pd_parameter *at, const pd_adamw *about, double step) {
  const double first = 1 - pow(about->beta1, step), second = 1 - pow(about->beta2, step);
  for (int64_t i = 0; i < at->count; i++) {
    const double grad = (double)at->grad[i];
    const double m = about->beta1 * (double)at->m[i] + (1 - about->beta1) * grad;
    const double v = about->beta2 * (double)at->v[i] + (1 - about->beta2) * grad * grad;
    const double decayed = (double)at->value[i] * (1 - about->lr * about->weight_decay);
    at->m[i] = (float)m;
    at->v[i] = (float)v;
    at->value[i] = (float)(decayed - about->lr * (m / first) / (sqrt(v / second) + about->eps));
  }
}

static pd_status adamw(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                       const pd_adamw *about) {
  for (int64_t i = 0; i < count; i++)
    if (parameters[i].half) return refuse(device, "adamw");
  KERNEL("adamw");
  if (!about->found_inf || *about->found_inf == 0) {
    *about->step += 1;
    for (int64_t i = 0; i < count; i++) update(&parameters[i], about, (double)*about->step);
  }
  DONE;
}

static pd_status unscale(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                         const pd_scaler *scaler) {
  KERNEL("unscale");
  *scaler->found_inf = 0;
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; j < parameters[i].count; j++) {
      float *grad = parameters[i].grad + j;
      *grad *= 1 / *scaler->scale;
      if (!isfinite(*grad)) *scaler->found_inf = 1;
    }
  DONE;
}

static pd_status scaler_update(pd_device *device, pd_stream *stream, const pd_scaler *scaler) {
  KERNEL("scaler_update");
  if (*scaler->found_inf != 0) {
    *scaler->scale *= (float)scaler->backoff;
    *scaler->good_steps = 0;
  } else if (++*scaler->good_steps == scaler->interval) {
    *scaler->scale *= (float)scaler->growth;
    *scaler->good_steps = 0;
  }
  DONE;
}

/* Members that are left out are optional: the training kit does without them. */
const pd_tensor_ops new_device_tensor_ops = {.size = sizeof(pd_tensor_ops),
                                             .supports = supports,
                                             .fill = fill,
                                             .randn = randn,
                                             .convert = convert,
                                             .elementwise = elementwise,
                                             .mean = mean,
                                             .copy_columns = copy_columns,
                                             .conv2d_forward = conv2d_forward,
                                             .conv2d_backward_data = conv2d_backward_data,
                                             .conv2d_backward_weight = conv2d_backward_weight,
                                             .bias_forward = bias_forward,
                                             .bias_backward = bias_backward,
                                             .mean_hw_forward = mean_hw_forward,
                                             .mean_hw_backward = mean_hw_backward,
                                             .matmul = matmul,
                                             .layer_norm_forward = layer_norm_forward,
                                             .layer_norm_backward = layer_norm_backward,
                                             .cross_entropy_forward = cross_entropy_forward,
                                             .cross_entropy_backward = cross_entropy_backward,
                                             .adamw = adamw,
                                             .unscale = unscale,
                                             .scaler_update = scaler_update};
