/* See linear.h. The gradients of weight and bias add to what an earlier use of the layer wrote. */
#include "linear.h"

static pd_status linear_backward(train_context *c, tape_node *node) {
  static pd_site mm = PD_SITE("aten::mm", PD_RANGE_OP);
  static pd_site sum = PD_SITE("aten::sum", PD_RANGE_OP);
  const pd_tensor *dy = &node->y->grad, *x = &node->a->value, *w;
  train_parameter_state *weight = node->weight, *bias = node->bias;
  pd_tensor dx = tensor_like(x, x->dtype);
  pd_status status = parameter_use(c, weight, &w);
  if (status == PD_OK && node->a->needs_grad) {
    status = tape_buffer(c, &dx);
    const bool begun = OP_BEGIN(c, &mm, .flops = node->flops, .inputs = {dy, w});
    if (status == PD_OK) status = c->t.matmul(c->device, c->stream, &dx, dy, w, NULL, false, false, false, c->tf32);
    op_end(c, begun);
  }
  if (status != PD_OK) return status;
  bool begun = OP_BEGIN(c, &mm, .flops = node->flops, .inputs = {dy, x});
  status = c->t.matmul(c->device, c->stream, &weight->grad, dy, x, NULL, true, false, weight->has_grad, c->tf32);
  op_end(c, begun);
  weight->has_grad = true;
  if (status != PD_OK) return status;
  begun = OP_BEGIN(c, &sum, .inputs = {dy});
  status = c->t.bias_backward(c->device, c->stream, &bias->grad, dy, bias->has_grad);
  op_end(c, begun);
  bias->has_grad = true;
  if (status == PD_OK && node->a->needs_grad) status = tape_add_grad(c, node->a, &dx);
  return status;
}

pd_status linear_build(train_context *c, parameters *all, uint64_t seed, const char *weight, const char *bias,
                       int64_t in, int64_t out) {
  const parameter_kind kinds[] = {
      {.name = weight, .shape = tensor_matrix(PD_F32, out, in), .fan_in = in, .multiplied = true},
      {.name = bias, .shape = tensor_vector(PD_F32, out), .fan_in = in}};
  const pd_status status = parameters_add(c, all, seed, &kinds[0]);
  return status == PD_OK ? parameters_add(c, all, seed, &kinds[1]) : status;
}

pd_status linear_forward(train_context *c, tape_tensor *x, train_parameter_state *weight, train_parameter_state *bias,
                         tape_tensor **y) {
  static pd_site site = PD_SITE("aten::linear", PD_RANGE_OP);
  static pd_site addmm = PD_SITE("aten::addmm", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("AddmmBackward0");
  const pd_tensor *w;
  pd_status status = parameter_use(c, weight, &w);
  if (status != PD_OK) return status;
  const pd_tensor shape = tensor_matrix(c->dtype, x->value.shape[0], w->shape[0]);
  const uint64_t flops = 2 * (uint64_t)(tensor_count(&x->value) * w->shape[0]);
  status = tape_tensor_new(c, &shape, y);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, &site, .sequence = tape_sequence(c->tape), .inputs = {&x->value, w, &bias->value});
  const bool inner = OP_BEGIN(c, &addmm, .flops = flops, .inputs = {&bias->value, &x->value, w});
  status = c->t.matmul(c->device, c->stream, &(*y)->value, &x->value, w, &bias->value, false, true, false, c->tf32);
  op_end(c, inner);
  op_end(c, begun);
  const tape_node node = {
      .backward = linear_backward, .names = &names, .a = x, .y = *y, .weight = weight, .bias = bias, .flops = flops};
  return status == PD_OK ? tape_push(c, &node) : status;
}
