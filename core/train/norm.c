/* See norm.h. The gradients of gamma and beta add to what an earlier use of the layer wrote. */
#include "norm.h"

static const double eps = 1e-5;

enum { MEAN = 0, RSTD = 1 }; /* of tape_node.saved */

bool norm_tiny_round_offered(const train_context *c) { return c->t.tiny_round_forward && c->t.tiny_round_backward; }

pd_status norm_layer_build(train_context *c, parameters *all, uint64_t seed, const char *gamma, const char *beta,
                           int64_t columns) {
  const pd_tensor row = tensor_vector(PD_F32, columns);
  const parameter_kind kinds[] = {{.name = gamma, .shape = row, .fan_in = columns, .start = PARAMETER_ONE},
                                  {.name = beta, .shape = row, .fan_in = columns, .start = PARAMETER_ZERO}};
  const pd_status status = parameters_add(c, all, seed, &kinds[0]);
  return status == PD_OK ? parameters_add(c, all, seed, &kinds[1]) : status;
}

static pd_status norm_backward(train_context *c, tape_node *node, bool tiny, pd_site *site) {
  const pd_tensor *x = &node->a->value, *dy = &node->y->grad, *mean = &node->saved[MEAN], *rstd = &node->saved[RSTD];
  train_parameter_state *gamma = node->weight, *beta = node->bias;
  pd_tensor dx = tensor_like(x, x->dtype);
  pd_status status = tape_buffer(c, &dx);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, site, .inputs = {dy, x, mean, rstd});
  const bool add = gamma->has_grad && beta->has_grad;
  status = (tiny ? c->t.tiny_round_backward : c->t.layer_norm_backward)(
      c->device, c->stream, &dx, &gamma->grad, &beta->grad, dy, x, mean, rstd, &gamma->value, add);
  op_end(c, begun);
  gamma->has_grad = beta->has_grad = true;
  return status == PD_OK ? tape_add_grad(c, node->a, &dx) : status;
}

static pd_status layer_norm_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::native_layer_norm_backward", PD_RANGE_OP);
  return norm_backward(c, node, false, &site);
}

static pd_status tiny_round_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("pdhost::tiny_round_backward", PD_RANGE_OP);
  return norm_backward(c, node, true, &site);
}

static pd_status norm_forward(train_context *c, tape_tensor *x, train_parameter_state *gamma,
                              train_parameter_state *beta, tape_tensor **y, bool tiny, pd_site *site, pd_site *inner) {
  static tape_names norm_names = TAPE_NAMES("NativeLayerNormBackward0");
  static tape_names tiny_names = TAPE_NAMES("TinyRoundBackward0");
  tape_node node = {.backward = tiny ? tiny_round_backward : layer_norm_backward,
                    .names = tiny ? &tiny_names : &norm_names,
                    .a = x,
                    .weight = gamma,
                    .bias = beta};
  const pd_tensor *in = &x->value;
  const pd_tensor shape = tensor_like(in, in->dtype);
  node.saved[MEAN] = node.saved[RSTD] = tensor_vector(PD_F32, in->shape[0]);
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status == PD_OK) status = tape_buffer(c, &node.saved[MEAN]);
  if (status == PD_OK) status = tape_buffer(c, &node.saved[RSTD]);
  if (status != PD_OK) return status;
  node.y = *y;
  const bool begun = OP_BEGIN(c, site, .sequence = tape_sequence(c->tape), .inputs = {in, &gamma->value, &beta->value});
  const bool nested = inner && OP_BEGIN(c, inner, .inputs = {in, &gamma->value, &beta->value});
  status = (tiny ? c->t.tiny_round_forward : c->t.layer_norm_forward)(
      c->device, c->stream, &node.y->value, &node.saved[MEAN], &node.saved[RSTD], in, &gamma->value, &beta->value, eps);
  op_end(c, nested);
  op_end(c, begun);
  return status == PD_OK ? tape_push(c, &node) : status;
}

pd_status norm_layer_forward(train_context *c, tape_tensor *x, train_parameter_state *gamma,
                             train_parameter_state *beta, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::layer_norm", PD_RANGE_OP);
  static pd_site inner = PD_SITE("aten::native_layer_norm", PD_RANGE_OP);
  return norm_forward(c, x, gamma, beta, y, false, &site, &inner);
}

pd_status norm_tiny_round_forward(train_context *c, tape_tensor *x, train_parameter_state *gamma,
                                  train_parameter_state *beta, tape_tensor **y) {
  static pd_site site = PD_SITE("pdhost::tiny_round", PD_RANGE_OP);
  return norm_forward(c, x, gamma, beta, y, true, &site, NULL);
}

/* ---- mean over the plane ---- */

/* The producer of x is a convolution with its ReLU folded in: one call gives the gradient after the ReLU and that of
 * the bias. */
static bool takes_relu(const train_context *c, const tape_tensor *x) {
  const tape_node *from = x->producer;
  return from && from->relu && !from->bias->has_grad && !x->grad.data && c->t.mean_hw_relu_backward;
}

static pd_status mean_hw_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::div", PD_RANGE_OP);
  tape_tensor *x = node->a;
  pd_tensor dx = tensor_like(&x->value, x->value.dtype);
  pd_status status = tape_buffer(c, &dx);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, &site, .inputs = {&node->y->grad});
  if (takes_relu(c, x)) {
    tape_node *from = x->producer;
    status = c->t.mean_hw_relu_backward(c->device, c->stream, &dx, &from->bias->grad, &node->y->grad, &x->value);
    from->relu_done = true;
    from->bias->has_grad = true;
  } else {
    status = c->t.mean_hw_backward(c->device, c->stream, &dx, &node->y->grad);
  }
  op_end(c, begun);
  return status == PD_OK ? tape_add_grad(c, x, &dx) : status;
}

pd_status norm_mean_hw_forward(train_context *c, tape_tensor *x, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::mean", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("MeanBackward1");
  const pd_tensor shape = tensor_matrix(c->dtype, x->value.shape[0], x->value.shape[1]);
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, &site, .sequence = tape_sequence(c->tape), .inputs = {&x->value});
  status = c->t.mean_hw_forward(c->device, c->stream, &(*y)->value, &x->value);
  op_end(c, begun);
  const tape_node node = {.backward = mean_hw_backward, .names = &names, .a = x, .y = *y};
  return status == PD_OK ? tape_push(c, &node) : status;
}
