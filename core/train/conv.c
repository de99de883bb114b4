/* See conv.h. Bias and ReLU work in place: neither is read again in its old form. */
#include "conv.h"

#include "elementwise.h"
#include "parameters.h"

enum { STRIDE = 2, PADDING = 1 };

static pd_conv2d shape_of(const train_context *c) {
  return (pd_conv2d){.size = sizeof(pd_conv2d), .stride = STRIDE, .padding = PADDING, .allow_tf32 = c->tf32};
}

/* dw and db of a first layer straight from dy, in one call. */
static pd_status first_layer_backward(train_context *c, tape_node *node) {
  const pd_conv2d conv = shape_of(c);
  node->weight->has_grad = node->bias->has_grad = true;
  return c->t.conv2d_relu_backward_weight(c->device, c->stream, &node->weight->grad, &node->bias->grad, &node->y->grad,
                                          &node->y->value, &node->a->value, &conv);
}

static pd_status bias_backward(train_context *c, tape_node *node, const pd_tensor *dy) {
  pd_tensor db;
  if (!node->relu || !c->t.bias_relu_backward) {
    pd_status status = PD_OK;
    if (node->relu) status = c->t.elementwise(c->device, c->stream, PD_EW_RELU_BACKWARD, dy, dy, &node->y->value, 0);
    if (status == PD_OK) status = c->t.bias_backward(c->device, c->stream, &node->bias->grad, dy, node->bias->has_grad);
    node->bias->has_grad = true;
    return status;
  }
  pd_status status = parameter_grad_begin(c, node->bias, &db);
  if (status == PD_OK) status = c->t.bias_relu_backward(c->device, c->stream, dy, &db, dy, &node->y->value);
  if (status == PD_OK) status = parameter_grad_done(c, node->bias, &db);
  return status;
}

static pd_status conv2d_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::convolution_backward", PD_RANGE_OP);
  const pd_conv2d conv = shape_of(c);
  const pd_tensor *dy = &node->y->grad, *w;
  const bool first = !node->a->needs_grad;
  pd_tensor dw, dx = tensor_like(&node->a->value, node->a->value.dtype);
  const bool begun =
      OP_BEGIN(c, &site, .flops = (first ? 1 : 2) * node->flops, .inputs = {dy, &node->a->value, &node->weight->value});
  pd_status status = PD_OK;
  if (first && node->relu && !node->relu_done && c->t.conv2d_relu_backward_weight && !node->weight->has_grad &&
      !node->bias->has_grad) {
    status = first_layer_backward(c, node);
    goto out;
  }
  if (!node->relu_done) status = bias_backward(c, node, dy);
  if (status == PD_OK && !first) status = tape_buffer(c, &dx);
  if (status == PD_OK && !first) status = parameter_use(c, node->weight, &w);
  if (status == PD_OK && !first) status = c->t.conv2d_backward_data(c->device, c->stream, &dx, dy, w, &conv);
  if (status == PD_OK) status = parameter_grad_begin(c, node->weight, &dw);
  if (status == PD_OK) status = c->t.conv2d_backward_weight(c->device, c->stream, &dw, dy, &node->a->value, &conv);
  if (status == PD_OK) status = parameter_grad_done(c, node->weight, &dw);
out:
  op_end(c, begun);
  if (status == PD_OK && !first) status = tape_add_grad(c, node->a, &dx);
  return status;
}

pd_status conv2d_relu_forward(train_context *c, tape_tensor *x, train_parameter_state *weight,
                              train_parameter_state *bias, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::conv2d", PD_RANGE_OP);
  static pd_site add = PD_SITE("aten::add_", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("ConvolutionBackward0");
  const pd_conv2d conv = shape_of(c);
  const pd_tensor *in = &x->value, *w;
  pd_status status = parameter_use(c, weight, &w);
  if (status != PD_OK) return status;
  const int64_t kernel = w->shape[2];
  const pd_tensor shape = tensor_image(c->dtype, c->layout, in->shape[0], w->shape[0],
                                       (in->shape[2] + PADDING + PADDING - kernel) / STRIDE + 1,
                                       (in->shape[3] + PADDING + PADDING - kernel) / STRIDE + 1);
  const uint64_t flops = 2 * (uint64_t)(tensor_count(&shape) * w->shape[1] * kernel * kernel);
  status = tape_tensor_new(c, &shape, y);
  if (status != PD_OK) return status;
  const pd_tensor *out = &(*y)->value;
  const bool begun =
      OP_BEGIN(c, &site, .sequence = tape_sequence(c->tape), .flops = flops, .inputs = {in, w, &bias->value});
  if (c->fused) {
    status = c->t.conv2d_forward(c->device, c->stream, out, in, w, &bias->value, true, &conv);
  } else {
    status = c->t.conv2d_forward(c->device, c->stream, out, in, w, NULL, false, &conv);
    const bool adding = OP_BEGIN(c, &add, .inputs = {out, &bias->value});
    if (status == PD_OK) status = c->t.bias_forward(c->device, c->stream, out, out, &bias->value);
    op_end(c, adding);
  }
  op_end(c, begun);
  const tape_node node = {.backward = conv2d_backward,
                          .names = &names,
                          .a = x,
                          .y = *y,
                          .weight = weight,
                          .bias = bias,
                          .flops = flops,
                          .relu = c->fused};
  if (status == PD_OK) status = tape_push(c, &node);
  if (status == PD_OK && !c->fused) status = elementwise_relu_forward(c, *y, y);
  return status;
}
