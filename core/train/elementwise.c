/* See elementwise.h. */
#include "elementwise.h"

/* A new tensor like `like` and one launch that fills it. */
static pd_status launch(train_context *c, pd_site *site, uint32_t sequence, pd_elementwise op, pd_tensor *y,
                        const pd_tensor *a, const pd_tensor *b, double alpha) {
  const bool begun = OP_BEGIN(c, site, .sequence = sequence, .inputs = {a, b});
  const pd_status status = c->t.elementwise(c->device, c->stream, op, y, a, b, alpha);
  op_end(c, begun);
  return status;
}

static pd_status forward(train_context *c, pd_site *site, pd_elementwise op, tape_node *node, tape_tensor **y) {
  const pd_tensor *a = &node->a->value;
  pd_tensor shape = tensor_like(a, a->dtype);
  if (op == PD_EW_RELU) shape.data = a->data;
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status != PD_OK) return status;
  node->y = *y;
  status =
      launch(c, site, tape_sequence(c->tape), op, &node->y->value, a, node->b ? &node->b->value : NULL, node->alpha);
  return status == PD_OK ? tape_push(c, node) : status;
}

/* to's gradient += op(a, b). */
static pd_status backward(train_context *c, pd_site *site, pd_elementwise op, tape_tensor *to, const pd_tensor *a,
                          const pd_tensor *b, double alpha) {
  pd_tensor grad = tensor_like(a, a->dtype);
  pd_status status = tape_buffer(c, &grad);
  if (status == PD_OK) status = launch(c, site, 0, op, &grad, a, b, alpha);
  return status == PD_OK ? tape_add_grad(c, to, &grad) : status;
}

static pd_status relu_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::threshold_backward", PD_RANGE_OP);
  pd_tensor *dy = &node->y->grad; /* only this node's: in place */
  const pd_status status = launch(c, &site, 0, PD_EW_RELU_BACKWARD, dy, dy, &node->y->value, 0);
  return status == PD_OK ? tape_add_grad(c, node->a, dy) : status;
}
pd_status elementwise_relu_forward(train_context *c, tape_tensor *x, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::relu", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("ReluBackward0");
  tape_node node = {.backward = relu_backward, .names = &names, .a = x};
  return forward(c, &site, PD_EW_RELU, &node, y);
}

static pd_status tanh_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::tanh_backward", PD_RANGE_OP);
  return backward(c, &site, PD_EW_TANH_BACKWARD, node->a, &node->y->grad, &node->y->value, 0);
}
pd_status elementwise_tanh_forward(train_context *c, tape_tensor *x, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::tanh", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("TanhBackward0");
  tape_node node = {.backward = tanh_backward, .names = &names, .a = x};
  return forward(c, &site, PD_EW_TANH, &node, y);
}

static pd_status sigmoid_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::sigmoid_backward", PD_RANGE_OP);
  return backward(c, &site, PD_EW_SIGMOID_BACKWARD, node->a, &node->y->grad, &node->y->value, 0);
}
pd_status elementwise_sigmoid_forward(train_context *c, tape_tensor *x, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::sigmoid", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("SigmoidBackward0");
  tape_node node = {.backward = sigmoid_backward, .names = &names, .a = x};
  return forward(c, &site, PD_EW_SIGMOID, &node, y);
}

static pd_site mul_site = PD_SITE("aten::mul", PD_RANGE_OP);

static pd_status scale_backward(train_context *c, tape_node *node) {
  return backward(c, &mul_site, PD_EW_SCALE, node->a, &node->y->grad, NULL, node->alpha);
}
pd_status elementwise_scale_forward(train_context *c, tape_tensor *x, double alpha, tape_tensor **y) {
  static tape_names names = TAPE_NAMES("MulBackward0");
  tape_node node = {.backward = scale_backward, .names = &names, .a = x, .alpha = alpha};
  return forward(c, &mul_site, PD_EW_SCALE, &node, y);
}

static pd_status mul_backward(train_context *c, tape_node *node) {
  const pd_tensor *dy = &node->y->grad;
  const pd_status status = backward(c, &mul_site, PD_EW_MUL, node->a, dy, &node->b->value, 0);
  return status == PD_OK ? backward(c, &mul_site, PD_EW_MUL, node->b, dy, &node->a->value, 0) : status;
}
pd_status elementwise_mul_forward(train_context *c, tape_tensor *a, tape_tensor *b, tape_tensor **y) {
  static tape_names names = TAPE_NAMES("MulBackward0");
  tape_node node = {.backward = mul_backward, .names = &names, .a = a, .b = b};
  return forward(c, &mul_site, PD_EW_MUL, &node, y);
}

/* No launch: both inputs share y's gradient. */
static pd_status add_backward(train_context *c, tape_node *node) {
  const pd_status status = tape_add_grad(c, node->a, &node->y->grad);
  return status == PD_OK ? tape_add_grad(c, node->b, &node->y->grad) : status;
}
pd_status elementwise_add_forward(train_context *c, tape_tensor *a, tape_tensor *b, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::add", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("AddBackward0");
  tape_node node = {.backward = add_backward, .names = &names, .a = a, .b = b, .alpha = 1.0};
  return forward(c, &site, PD_EW_ADD, &node, y);
}

/* ---- columns ---- */

static pd_status move(train_context *c, pd_site *site, uint32_t sequence, const pd_tensor *y, const pd_tensor *x,
                      int64_t column, int64_t columns) {
  const bool begun = OP_BEGIN(c, site, .sequence = sequence, .inputs = {x});
  const pd_status status = c->t.copy_columns(c->device, c->stream, y, column, x, column, columns);
  op_end(c, begun);
  return status;
}

static pd_status slice_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::slice_backward", PD_RANGE_OP);
  return move(c, &site, 0, &node->a->grad, &node->y->grad, 0, node->columns);
}
pd_status elementwise_slice_forward(train_context *c, tape_tensor *x, int64_t columns, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::slice", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("SliceBackward0");
  const pd_tensor shape = tensor_matrix(x->value.dtype, x->value.shape[0], columns);
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status == PD_OK) status = move(c, &site, tape_sequence(c->tape), &(*y)->value, &x->value, 0, columns);
  const tape_node node = {.backward = slice_backward, .names = &names, .a = x, .y = *y, .columns = columns};
  return status == PD_OK ? tape_push(c, &node) : status;
}

static pd_status cat_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::slice", PD_RANGE_OP);
  const pd_tensor *dy = &node->y->grad;
  pd_tensor da = tensor_like(&node->a->value, node->a->value.dtype);
  pd_status status = tape_buffer(c, &da);
  if (status == PD_OK) status = move(c, &site, 0, &da, dy, 0, node->columns);
  if (status == PD_OK) status = tape_add_grad(c, node->a, &da);
  return status == PD_OK ? tape_add_grad(c, node->b, dy) : status;
}
pd_status elementwise_cat_forward(train_context *c, tape_tensor *a, tape_tensor *x, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::cat", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("CatBackward0");
  const int64_t columns = a->value.shape[1];
  const pd_tensor shape = tensor_like(&x->value, x->value.dtype);
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status != PD_OK) return status;
  const pd_tensor *out = &(*y)->value;
  const bool begun = OP_BEGIN(c, &site, .sequence = tape_sequence(c->tape), .inputs = {&a->value, &x->value});
  status = c->t.copy_columns(c->device, c->stream, out, 0, &a->value, 0, columns);
  if (status == PD_OK)
    status = c->t.copy_columns(c->device, c->stream, out, columns, &x->value, columns, out->shape[1] - columns);
  op_end(c, begun);
  const tape_node node = {.backward = cat_backward, .names = &names, .a = a, .b = x, .y = *y, .columns = columns};
  return status == PD_OK ? tape_push(c, &node) : status;
}
