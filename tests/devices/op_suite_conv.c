/* Convolutions, biases and the mean over H and W, of the device operation suite. */
#include "op_suite.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Odd sizes, one image, one channel, the model's three layers, a kernel of one, strides of one and three. */
static const reference_conv shapes[] = {
    {.n = 1, .i = 1, .o = 1, .h = 5, .w = 5, .kernel = 3, .stride = 2, .padding = 1},
    {.n = 2, .i = 3, .o = 5, .h = 7, .w = 7, .kernel = 3, .stride = 2, .padding = 1},
    {.n = 3, .i = 5, .o = 7, .h = 8, .w = 5, .kernel = 3, .stride = 1, .padding = 1},
    {.n = 1, .i = 3, .o = 64, .h = 32, .w = 32, .kernel = 3, .stride = 2, .padding = 1},
    {.n = 2, .i = 64, .o = 128, .h = 8, .w = 8, .kernel = 3, .stride = 2, .padding = 1},
    {.n = 2, .i = 128, .o = 256, .h = 4, .w = 4, .kernel = 3, .stride = 2, .padding = 1},
    {.n = 2, .i = 8, .o = 16, .h = 5, .w = 7, .kernel = 1, .stride = 1, .padding = 0},
    {.n = 1, .i = 2, .o = 3, .h = 1, .w = 1, .kernel = 3, .stride = 2, .padding = 1},
};
/* The walk of `terms` products of at most 1, over all elements of `o`. */
static double walk_size(const operand *o, int64_t terms) { return sqrt((double)(rig_count(&o->t) * terms)); }
static void expect(device_rig *rig, const operand *o, pd_dtype dtype, int64_t terms, const char *what) {
  operand_expect_sized(rig, o, rig_bound(dtype, terms), walk_size(o, terms), what);
}
/* Sums of `terms` products, which may be TF32's. */
static void expect_products(device_rig *rig, const operand *o, rig_format f, bool tf32, int64_t terms,
                            const char *what) {
  operand_expect_sized(rig, o, rig_bound(f.dtype, terms) + suite_tf32_bound(rig, f, tf32), walk_size(o, terms), what);
}
#define SHAPES (sizeof shapes / sizeof shapes[0])

static pd_conv2d about(const reference_conv *c, bool tf32) {
  return (pd_conv2d){
      .size = sizeof(pd_conv2d), .stride = (uint32_t)c->stride, .padding = (uint32_t)c->padding, .allow_tf32 = tf32};
}

static void forward(device_rig *rig, rig_format f, bool tf32) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  for (size_t s = 0; s < SHAPES; s++) {
    const reference_conv *c = &shapes[s];
    const pd_conv2d conv = about(c, tf32);
    operand x = INPUT(rig, f, c->n, c->i, c->h, c->w), w = INPUT(rig, f, c->o, c->i, c->kernel, c->kernel);
    operand bias = INPUT(rig, OPERAND_F32, c->o);
    operand y = OUTPUT(rig, f, c->n, c->o, reference_conv_height(c), reference_conv_width(c));
    for (int variant = 0; variant < 4; variant++) {
      const bool biased = variant & 1, relu = variant & 2;
      char what[96];
      snprintf(what, sizeof what, "conv2d_forward, shape %zu, type %u, layout %u, bias %d, relu %d, tf32 %d", s,
               f.dtype, f.layout, biased, relu, tf32);
      operand_poison(rig, &y);
      rig_ok(rig, ops->conv2d_forward(rig->device, rig->stream, &y.t, &x.t, &w.t, biased ? &bias.t : NULL, relu, &conv),
             what);
      reference_conv2d_forward(y.v, x.v, w.v, biased ? bias.v : NULL, relu, c);
      expect_products(rig, &y, f, tf32, c->i * c->kernel * c->kernel, what);
    }
    OPERANDS_FREE(rig, &x, &w, &bias, &y);
  }
}

void suite_conv_forward(device_rig *rig, rig_format f) { forward(rig, f, false); }
void suite_conv_forward_tf32(device_rig *rig, rig_format f) { forward(rig, f, true); }

static void backward(device_rig *rig, rig_format f, bool tf32) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  for (size_t s = 0; s < SHAPES; s++) {
    const reference_conv *c = &shapes[s];
    const pd_conv2d conv = about(c, tf32);
    const int64_t oh = reference_conv_height(c), ow = reference_conv_width(c);
    operand x = INPUT(rig, f, c->n, c->i, c->h, c->w), w = INPUT(rig, f, c->o, c->i, c->kernel, c->kernel);
    operand dy = INPUT(rig, f, c->n, c->o, oh, ow), dx = OUTPUT(rig, f, c->n, c->i, c->h, c->w);
    const rig_format master = {PD_F32, f.layout}; /* the weight's gradient is float32 whatever the activations are */
    operand dw = OUTPUT(rig, master, c->o, c->i, c->kernel, c->kernel);
    rig_ok(rig, ops->conv2d_backward_data(rig->device, rig->stream, &dx.t, &dy.t, &w.t, &conv), "backward data");
    rig_ok(rig, ops->conv2d_backward_weight(rig->device, rig->stream, &dw.t, &dy.t, &x.t, &conv), "backward weight");
    reference_conv2d_backward_data(dx.v, dy.v, w.v, c);
    reference_conv2d_backward_weight(dw.v, dy.v, x.v, c);
    char what[96];
    snprintf(what, sizeof what, "conv2d_backward_data, shape %zu, type %u, layout %u, tf32 %d", s, f.dtype, f.layout,
             tf32);
    expect_products(rig, &dx, f, tf32, c->o * c->kernel * c->kernel, what);
    snprintf(what, sizeof what, "conv2d_backward_weight, shape %zu, type %u, layout %u, tf32 %d", s, f.dtype, f.layout,
             tf32);
    expect_products(rig, &dw, f, tf32, c->n * oh * ow, what);
    OPERANDS_FREE(rig, &x, &w, &dy, &dx, &dw);
  }
}

void suite_conv_backward(device_rig *rig, rig_format f) { backward(rig, f, false); }
void suite_conv_backward_tf32(device_rig *rig, rig_format f) { backward(rig, f, true); }

static void fused_backward(device_rig *rig, rig_format f, bool tf32) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  for (size_t s = 0; s < SHAPES && PD_HAS(pd_tensor_ops, ops, mean_hw_relu_backward); s++) {
    const reference_conv *c = &shapes[s];
    const pd_conv2d conv = about(c, tf32);
    const int64_t oh = reference_conv_height(c), ow = reference_conv_width(c), count = c->n * c->o * oh * ow;
    operand x = INPUT(rig, f, c->n, c->i, c->h, c->w), y = INPUT(rig, f, c->n, c->o, oh, ow);
    operand dy = INPUT(rig, f, c->n, c->o, oh, ow), small = INPUT(rig, f, c->n, c->o);
    const rig_format master = {PD_F32, f.layout};
    operand dw = OUTPUT(rig, master, c->o, c->i, c->kernel, c->kernel), db = OUTPUT(rig, OPERAND_F32, c->o);
    operand dx = OUTPUT(rig, f, c->n, c->o, oh, ow);
    double *masked = malloc((size_t)count * sizeof *masked);
    cr_assert(masked);
    for (int64_t i = 0; i < count; i++) masked[i] = y.v[i] > 0 ? dy.v[i] : 0;
    if (ops->conv2d_relu_backward_weight) {
      rig_ok(rig, ops->conv2d_relu_backward_weight(rig->device, rig->stream, &dw.t, &db.t, &dy.t, &y.t, &x.t, &conv),
             "conv2d_relu_backward_weight");
      reference_conv2d_backward_weight(dw.v, masked, x.v, c);
      reference_bias_backward(db.v, masked, c->n, c->o, oh * ow);
      /* The bias's gradient may be products with one, in the same tensor cores. */
      expect_products(rig, &dw, f, tf32, c->n * oh * ow, "conv2d_relu_backward_weight dw");
      expect_products(rig, &db, f, tf32, c->n * oh * ow, "conv2d_relu_backward_weight db");
    }
    if (ops->mean_hw_relu_backward) {
      operand_poison(rig, &db);
      rig_ok(rig, ops->mean_hw_relu_backward(rig->device, rig->stream, &dx.t, &db.t, &small.t, &y.t),
             "mean_hw_relu_backward");
      reference_mean_hw_backward(dx.v, small.v, c->n * c->o, oh * ow);
      for (int64_t i = 0; i < count; i++)
        if (!(y.v[i] > 0)) dx.v[i] = 0;
      reference_bias_backward(db.v, dx.v, c->n, c->o, oh * ow);
      expect(rig, &dx, f.dtype, 1, "mean_hw_relu_backward dx");
      expect(rig, &db, f.dtype, c->n * oh * ow, "mean_hw_relu_backward db");
    }
    free(masked);
    OPERANDS_FREE(rig, &x, &y, &dy, &small, &dw, &db, &dx);
  }
}

void suite_conv_fused_backward(device_rig *rig, rig_format f) { fused_backward(rig, f, false); }
void suite_conv_fused_backward_tf32(device_rig *rig, rig_format f) { fused_backward(rig, f, true); }

/* sum(g * forward(x, w)) in double, of the device's own forward pass. */
static double weighted(device_rig *rig, const operand *y, const operand *x, const operand *w, const double *g,
                       const pd_conv2d *conv) {
  const int64_t count = rig_count(&y->t);
  double *got = malloc((size_t)count * sizeof *got), sum = 0;
  cr_assert(got);
  rig_ok(rig, rig->ops->tensor->conv2d_forward(rig->device, rig->stream, &y->t, &x->t, &w->t, NULL, false, conv),
         "conv2d_forward");
  rig_download(rig, &y->t, got);
  for (int64_t i = 0; i < count; i++) sum += g[i] * got[i];
  free(got);
  return sum;
}

/*
 * A convolution is linear in x and in w, so a central difference has no truncation error and the step may be 1: what is
 * left is rounding, of the differences' two sums of `count` outputs of about sqrt(reduction) and of the gradient.
 */
void suite_conv_differences(device_rig *rig, rig_format f) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  const reference_conv *c = &shapes[1];
  const pd_conv2d conv = about(c, false);
  const int64_t oh = reference_conv_height(c), ow = reference_conv_width(c), count = c->n * c->o * oh * ow;
  const rig_format master = {PD_F32, f.layout};
  operand x = INPUT(rig, f, c->n, c->i, c->h, c->w), w = INPUT(rig, f, c->o, c->i, c->kernel, c->kernel);
  operand y = OUTPUT(rig, f, c->n, c->o, oh, ow), dy = INPUT(rig, f, c->n, c->o, oh, ow);
  operand dx = OUTPUT(rig, f, c->n, c->i, c->h, c->w), dw = OUTPUT(rig, master, c->o, c->i, c->kernel, c->kernel);
  rig_ok(rig, ops->conv2d_backward_data(rig->device, rig->stream, &dx.t, &dy.t, &w.t, &conv), "backward data");
  rig_ok(rig, ops->conv2d_backward_weight(rig->device, rig->stream, &dw.t, &dy.t, &x.t, &conv), "backward weight");
  rig_download(rig, &dx.t, dx.v);
  rig_download(rig, &dw.t, dw.v);
  const double epsilon = rig_epsilon(f.dtype);
  const double bound = 8 * epsilon * sqrt((double)count) * sqrt((double)(c->i * c->kernel * c->kernel));
  for (int which = 0; which < 2; which++) {
    operand *input = which ? &w : &x;
    const double *gradient = which ? dw.v : dx.v;
    for (int64_t at = 0; at < rig_count(&input->t); at += 7) {
      const double old = input->v[at];
      input->v[at] = old + 1;
      rig_upload(rig, &input->t, input->v);
      const double upper_at = input->v[at], upper = weighted(rig, &y, &x, &w, dy.v, &conv);
      input->v[at] = old - 1;
      rig_upload(rig, &input->t, input->v);
      const double slope = (upper - weighted(rig, &y, &x, &w, dy.v, &conv)) / (upper_at - input->v[at]);
      cr_assert(fabs(slope - gradient[at]) <= bound, "%s[%lld]: difference %.9g, gradient %.9g, bound %g",
                which ? "dw" : "dx", (long long)at, slope, gradient[at], bound);
      input->v[at] = old;
      rig_upload(rig, &input->t, input->v);
    }
  }
  OPERANDS_FREE(rig, &x, &w, &y, &dy, &dx, &dw);
}

/* `in_place`: y is x, dx is dy. */
static void bias_of(device_rig *rig, rig_format f, const int64_t *dims, size_t rank, bool in_place) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  const int64_t channels = dims[1], inner = rank == 4 ? dims[2] * dims[3] : 1, outer = dims[0];
  operand x = operand_input(rig, f.dtype, f.layout, rank, dims), y = operand_output(rig, f.dtype, f.layout, rank, dims);
  operand dy = operand_input(rig, f.dtype, f.layout, rank, dims),
          dx = operand_output(rig, f.dtype, f.layout, rank, dims);
  operand bias = INPUT(rig, OPERAND_F32, channels), db = OUTPUT(rig, OPERAND_F32, channels);
  reference_bias_forward(y.v, x.v, bias.v, outer, channels, inner);
  rig_ok(rig, ops->bias_forward(rig->device, rig->stream, in_place ? &x.t : &y.t, &x.t, &bias.t), "bias_forward");
  const operand shifted = {in_place ? x.t : y.t, y.v};
  expect(rig, &shifted, f.dtype, 2, "bias_forward");
  const int64_t terms = outer * inner;
  reference_bias_backward(db.v, dy.v, outer, channels, inner);
  rig_ok(rig, ops->bias_backward(rig->device, rig->stream, &db.t, &dy.t, false), "bias_backward");
  expect(rig, &db, PD_F32, terms, "bias_backward");
  for (int64_t i = 0; i < channels; i++) db.v[i] *= 2;
  rig_ok(rig, ops->bias_backward(rig->device, rig->stream, &db.t, &dy.t, true), "bias_backward");
  expect(rig, &db, PD_F32, terms, "bias_backward, accumulating");
  if (PD_HAS(pd_tensor_ops, ops, bias_relu_backward) && ops->bias_relu_backward) {
    rig_upload(rig, &y.t, y.v); /* what is above 0 is decided by what the device holds */
    for (int64_t i = 0; i < rig_count(&dy.t); i++) dx.v[i] = y.v[i] > 0 ? dy.v[i] : 0;
    reference_bias_backward(db.v, dx.v, outer, channels, inner);
    operand_poison(rig, &db);
    rig_ok(rig, ops->bias_relu_backward(rig->device, rig->stream, in_place ? &dy.t : &dx.t, &db.t, &dy.t, &y.t),
           "bias_relu_backward");
    const operand out = {in_place ? dy.t : dx.t, dx.v};
    operand_expect_exact(rig, &out, "bias_relu_backward dx");
    expect(rig, &db, PD_F32, terms, "bias_relu_backward db");
  }
  OPERANDS_FREE(rig, &x, &y, &dy, &dx, &bias, &db);
}

void suite_bias(device_rig *rig, rig_format f) {
  static const int64_t images[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 64, 16, 16}, {1, 5, 8, 8}};
  static const int64_t matrices[][2] = {{1, 1}, {7, 5}, {16, 1000}, {33, 256}};
  for (int in_place = 0; in_place < 2; in_place++) {
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) bias_of(rig, f, images[i], 4, in_place);
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) bias_of(rig, f, matrices[i], 2, in_place);
  }
}

void suite_mean_hw(device_rig *rig, rig_format f) {
  /* The last two are more images than a GPU's grid has blocks in its second dimension; wide and narrow columns. */
  static const int64_t images[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7},     {3, 256, 4, 4},
                                      {1, 5, 8, 8}, {65600, 8, 1, 1}, {65600, 1, 1, 2}};
  const pd_tensor_ops *ops = rig->ops->tensor;
  for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
    const int64_t *d = images[i], hw = d[2] * d[3];
    operand x = operand_input(rig, f.dtype, f.layout, 4, d), dx = operand_output(rig, f.dtype, f.layout, 4, d);
    operand y = OUTPUT(rig, f, d[0], d[1]), dy = INPUT(rig, f, d[0], d[1]);
    rig_ok(rig, ops->mean_hw_forward(rig->device, rig->stream, &y.t, &x.t), "mean_hw_forward");
    rig_ok(rig, ops->mean_hw_backward(rig->device, rig->stream, &dx.t, &dy.t), "mean_hw_backward");
    reference_mean_hw_forward(y.v, x.v, d[0] * d[1], hw);
    reference_mean_hw_backward(dx.v, dy.v, d[0] * d[1], hw);
    expect(rig, &y, f.dtype, hw, "mean_hw_forward");
    expect(rig, &dx, f.dtype, 1, "mean_hw_backward");
    OPERANDS_FREE(rig, &x, &dx, &y, &dy);
  }
}
