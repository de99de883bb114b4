/* Fills, conversions, elementwise arithmetic, the mean of a tensor, blocks of columns. */
#include "cpu_ops.h"

#include <math.h>
#include <string.h>

typedef struct elementwise_arguments {
  float *y;
  const float *a, *b;
  int64_t count;
  float alpha;
  bool broadcast;
} elementwise_arguments;

static pd_status run_add(pd_stream *stream, void *arguments) {
  (void)stream;
  const elementwise_arguments *p = arguments;
  if (p->broadcast) {
    const float added = p->alpha * p->b[0];
    for (int64_t i = 0; i < p->count; i++) p->y[i] = p->a[i] + added;
  } else {
    for (int64_t i = 0; i < p->count; i++) p->y[i] = p->a[i] + p->alpha * p->b[i];
  }
  return PD_OK;
}

/* One loop per operation; `expression` is in terms of a[i] and b[i]. */
#define RUN(name, expression)                                                                                          \
  static pd_status run_##name(pd_stream *stream, void *arguments) {                                                    \
    (void)stream;                                                                                                      \
    const elementwise_arguments *p = arguments;                                                                        \
    const float *const a = p->a, *const b = p->b;                                                                      \
    (void)b;                                                                                                           \
    for (int64_t i = 0; i < p->count; i++) p->y[i] = (expression);                                                     \
    return PD_OK;                                                                                                      \
  }
RUN(mul, a[i] * b[i])
RUN(scale, p->alpha *a[i])
RUN(relu, a[i] > 0 ? a[i] : 0)
RUN(tanh, tanhf(a[i]))
RUN(sigmoid, 1.0f / (1.0f + expf(-a[i])))
RUN(relu_backward, b[i] > 0 ? a[i] : 0)
RUN(tanh_backward, a[i] * (1.0f - b[i] * b[i]))
RUN(sigmoid_backward, a[i] * b[i] * (1.0f - b[i]))
#undef RUN

pd_status cpu_elementwise(pd_device *device, pd_stream *stream, pd_elementwise op, const pd_tensor *y,
                          const pd_tensor *a, const pd_tensor *b, double alpha) {
  static struct {
    pd_site site;
    job_run run;
    bool two; /* needs b */
  } table[] = {{{0}, NULL, false},
               {PD_SITE("add", 0), run_add, true},
               {PD_SITE("mul", 0), run_mul, true},
               {PD_SITE("scale", 0), run_scale, false},
               {PD_SITE("relu", 0), run_relu, false},
               {PD_SITE("tanh", 0), run_tanh, false},
               {PD_SITE("sigmoid", 0), run_sigmoid, false},
               {PD_SITE("relu_backward", 0), run_relu_backward, true},
               {PD_SITE("tanh_backward", 0), run_tanh_backward, true},
               {PD_SITE("sigmoid_backward", 0), run_sigmoid_backward, true}};
  if (op < PD_EW_ADD || op > PD_EW_SIGMOID_BACKWARD) return refuse(device, "elementwise");
  const int64_t count = tensor_count(y);
  const bool two = table[op].two;
  const bool broadcast = op == PD_EW_ADD && b && tensor_count(b) == 1 && count != 1;
  if (y->dtype != PD_F32 || a->dtype != PD_F32 || !same_shape(y, a) || (two && (!b || b->dtype != PD_F32)) ||
      (two && !broadcast && !same_shape(y, b)))
    return refuse(device, "elementwise");
  const elementwise_arguments p = {y->data, a->data, two ? b->data : NULL, count, (float)alpha, broadcast};
  return cpu_stream_kernel(stream, &table[op].site, table[op].run, &p, sizeof p);
}

typedef struct fill_arguments {
  void *y;
  int64_t count;
  pd_dtype dtype;
  uint32_t reserved;
  double value;
} fill_arguments;

static pd_status run_fill(pd_stream *stream, void *arguments) {
  (void)stream;
  const fill_arguments *p = arguments;
  for (int64_t i = 0; i < p->count; i++) {
    if (p->dtype == PD_F32)
      ((float *)p->y)[i] = (float)p->value;
    else if (p->dtype == PD_I64)
      ((int64_t *)p->y)[i] = (int64_t)p->value;
    else if (p->dtype == PD_I32)
      ((int32_t *)p->y)[i] = (int32_t)p->value;
    else
      ((uint8_t *)p->y)[i] = (uint8_t)p->value;
  }
  return PD_OK;
}

pd_status cpu_fill(pd_device *device, pd_stream *stream, const pd_tensor *y, double value) {
  static pd_site kernel = PD_SITE("fill", 0), call = PD_SITE("pdMemsetAsync", 0);
  const fill_arguments p = {.y = y->data, .count = tensor_count(y), .dtype = y->dtype, .value = value};
  if (y->dtype == PD_F16 || y->dtype == PD_BF16) return refuse(device, "fill");
  if (value != 0) return cpu_stream_kernel(stream, &kernel, run_fill, &p, sizeof p);
  const uint64_t width = y->dtype == PD_I64 ? 8 : y->dtype == PD_U8 ? 1 : 4;
  const launch how = {
      .call = &call,
      .api = PD_API_MEMSET,
      .record = {.kind = PD_ACTIVITY_MEMSET, .to = PD_MEMORY_DEVICE, .bytes = (uint64_t)p.count * width}};
  return cpu_stream_launch(stream, &how, run_fill, &p, sizeof p);
}

typedef struct convert_arguments {
  float *y;
  const float *x;
  int64_t count;    /* one plain copy; or */
  int64_t n, c, hw; /* a change of layout */
  bool to_last, change;
} convert_arguments;

static pd_status run_convert(pd_stream *stream, void *arguments) {
  (void)stream;
  const convert_arguments *p = arguments;
  if (!p->change) {
    memmove(p->y, p->x, (size_t)p->count * sizeof *p->y);
    return PD_OK;
  }
  for (int64_t n = 0; n < p->n; n++)
    for (int64_t c = 0; c < p->c; c++)
      for (int64_t i = 0; i < p->hw; i++) {
        const int64_t first = (n * p->c + c) * p->hw + i, last = (n * p->hw + i) * p->c + c;
        p->y[p->to_last ? last : first] = p->x[p->to_last ? first : last];
      }
  return PD_OK;
}

pd_status cpu_convert(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  static pd_site site = PD_SITE("convert", 0);
  convert_arguments p = {.y = y->data, .x = x->data, .count = tensor_count(x)};
  if (x->dtype != PD_F32 || y->dtype != PD_F32 || x->rank != y->rank) return refuse(device, "convert");
  for (uint32_t i = 0; i < x->rank; i++)
    if (x->shape[i] != y->shape[i]) return refuse(device, "convert");
  if (x->layout != y->layout && x->rank == 4) {
    p.change = true;
    p.to_last = y->layout == PD_NHWC;
    p.n = x->shape[0];
    p.c = x->shape[1];
    p.hw = x->shape[2] * x->shape[3];
  }
  return cpu_stream_kernel(stream, &site, run_convert, &p, sizeof p);
}

static pd_status run_mean(pd_stream *stream, void *arguments) {
  (void)stream;
  const elementwise_arguments *p = arguments;
  double sum = 0;
  for (int64_t i = 0; i < p->count; i++) sum += (double)p->a[i];
  p->y[0] = (float)(sum / (double)p->count);
  return PD_OK;
}

pd_status cpu_mean(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  static pd_site site = PD_SITE("mean", 0);
  const elementwise_arguments p = {.y = y->data, .a = x->data, .count = tensor_count(x)};
  if (!is_vector(y, 1) || x->dtype != PD_F32 || p.count == 0) return refuse(device, "mean");
  return cpu_stream_kernel(stream, &site, run_mean, &p, sizeof p);
}

typedef struct columns_arguments {
  float *y;
  const float *x;
  int64_t rows, columns, y_stride, x_stride;
} columns_arguments;

static pd_status run_copy_columns(pd_stream *stream, void *arguments) {
  (void)stream;
  const columns_arguments *p = arguments;
  for (int64_t row = 0; row < p->rows; row++)
    memcpy(p->y + row * p->y_stride, p->x + row * p->x_stride, (size_t)p->columns * sizeof *p->y);
  return PD_OK;
}

pd_status cpu_copy_columns(pd_device *device, pd_stream *stream, const pd_tensor *y, int64_t y_column,
                           const pd_tensor *x, int64_t x_column, int64_t columns) {
  static pd_site site = PD_SITE("copy_columns", 0);
  if (x->rank != 2 || y->rank != 2 || x->dtype != PD_F32 || y->dtype != PD_F32 || x->shape[0] != y->shape[0] ||
      columns < 0 || y_column < 0 || x_column < 0 || y_column + columns > y->shape[1] ||
      x_column + columns > x->shape[1])
    return refuse(device, "copy_columns");
  const columns_arguments p = {
      (float *)y->data + y_column, (const float *)x->data + x_column, x->shape[0], columns, y->shape[1], x->shape[1]};
  return cpu_stream_kernel(stream, &site, run_copy_columns, &p, sizeof p);
}
