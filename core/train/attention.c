/* See attention.h. A head is a batch of its own: tensors of rank 3 are (N heads, T, D / heads) or (N heads, T, T). */
#include "attention.h"

#include <math.h>

bool attention_offered(const pd_tensor_ops *ops) {
  return PD_HAS(pd_tensor_ops, ops, swap_middle) && ops->batched_matmul && ops->softmax_forward &&
         ops->softmax_backward && ops->swap_middle;
}

static pd_tensor batches(pd_dtype dtype, int64_t count, int64_t rows, int64_t columns) {
  return (pd_tensor){.rank = 3, .dtype = dtype, .shape = {count, rows, columns}};
}

/* ---- heads out of the columns, and back ---- */

/* to = from with the middle dimensions of (N, T, heads, width) swapped, or those of (N, heads, T, width) where `back`.
 * `whole` is the (N T, D) of the two, `split` the other. */
static pd_status swap(train_context *c, uint32_t sequence, const pd_tensor *whole, const pd_tensor *split, bool back) {
  static pd_site site = PD_SITE("aten::contiguous", PD_RANGE_OP);
  const int64_t vectors = split->shape[1], width = split->shape[2], heads = whole->shape[1] / width;
  const int64_t samples = whole->shape[0] / vectors;
  pd_tensor columns = tensor_image(whole->dtype, PD_NCHW, samples, vectors, heads, width);
  pd_tensor apart = tensor_image(whole->dtype, PD_NCHW, samples, heads, vectors, width);
  columns.data = whole->data;
  apart.data = split->data;
  const bool begun = OP_BEGIN(c, &site, .sequence = sequence, .inputs = {back ? &apart : &columns});
  const pd_status status = c->t.swap_middle(c->device, c->stream, back ? &columns : &apart, back ? &apart : &columns);
  op_end(c, begun);
  return status;
}

static tape_names swap_names = TAPE_NAMES("CloneBackward0");

static pd_status split_backward(train_context *c, tape_node *node) {
  pd_tensor dx = tensor_like(&node->a->value, node->a->value.dtype);
  pd_status status = tape_buffer(c, &dx);
  if (status == PD_OK) status = swap(c, 0, &dx, &node->y->grad, true);
  return status == PD_OK ? tape_add_grad(c, node->a, &dx) : status;
}

static pd_status split(train_context *c, tape_tensor *x, int64_t vectors, int64_t heads, tape_tensor **y) {
  const int64_t *in = x->value.shape;
  const pd_tensor shape = batches(x->value.dtype, in[0] / vectors * heads, vectors, in[1] / heads);
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status == PD_OK) status = swap(c, tape_sequence(c->tape), &x->value, &(*y)->value, false);
  const tape_node node = {.backward = split_backward, .names = &swap_names, .a = x, .y = *y};
  return status == PD_OK ? tape_push(c, &node) : status;
}

static pd_status join_backward(train_context *c, tape_node *node) {
  pd_tensor dx = tensor_like(&node->a->value, node->a->value.dtype);
  pd_status status = tape_buffer(c, &dx);
  if (status == PD_OK) status = swap(c, 0, &node->y->grad, &dx, false);
  return status == PD_OK ? tape_add_grad(c, node->a, &dx) : status;
}

static pd_status join(train_context *c, tape_tensor *x, int64_t heads, tape_tensor **y) {
  const int64_t *in = x->value.shape;
  const pd_tensor shape = tensor_matrix(x->value.dtype, in[0] / heads * in[1], heads * in[2]);
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status == PD_OK) status = swap(c, tape_sequence(c->tape), &(*y)->value, &x->value, true);
  const tape_node node = {.backward = join_backward, .names = &swap_names, .a = x, .y = *y};
  return status == PD_OK ? tape_push(c, &node) : status;
}

/* ---- products ---- */

static pd_status multiply(train_context *c, uint32_t sequence, uint64_t flops, const pd_tensor *y, const pd_tensor *a,
                          const pd_tensor *b, bool transpose_a, bool transpose_b) {
  static pd_site site = PD_SITE("aten::bmm", PD_RANGE_OP);
  const bool begun = OP_BEGIN(c, &site, .sequence = sequence, .flops = flops, .inputs = {a, b});
  const pd_status status = c->t.batched_matmul(c->device, c->stream, y, a, b, transpose_a, transpose_b, c->tf32);
  op_end(c, begun);
  return status;
}

/* to's gradient += op(a) op(b). */
static pd_status add_product(train_context *c, const tape_node *node, tape_tensor *to, const pd_tensor *a,
                             const pd_tensor *b, bool transpose_a, bool transpose_b) {
  pd_tensor grad = tensor_like(&to->value, to->value.dtype);
  pd_status status = tape_buffer(c, &grad);
  if (status == PD_OK) status = multiply(c, 0, node->flops, &grad, a, b, transpose_a, transpose_b);
  return status == PD_OK ? tape_add_grad(c, to, &grad) : status;
}

/* y = a b' */
static pd_status scores_backward(train_context *c, tape_node *node) {
  const pd_tensor *dy = &node->y->grad;
  const pd_status status = add_product(c, node, node->a, dy, &node->b->value, false, false);
  return status == PD_OK ? add_product(c, node, node->b, dy, &node->a->value, true, false) : status;
}

/* y = a b */
static pd_status mix_backward(train_context *c, tape_node *node) {
  const pd_tensor *dy = &node->y->grad;
  const pd_status status = add_product(c, node, node->a, dy, &node->b->value, false, true);
  return status == PD_OK ? add_product(c, node, node->b, &node->a->value, dy, true, false) : status;
}

static pd_status product(train_context *c, tape_tensor *a, tape_tensor *b, bool transpose_b, tape_tensor **y) {
  static tape_names names = TAPE_NAMES("BmmBackward0");
  const pd_tensor *left = &a->value, *right = &b->value;
  const pd_tensor shape = batches(left->dtype, left->shape[0], left->shape[1], right->shape[transpose_b ? 1 : 2]);
  tape_node node = {.backward = transpose_b ? scores_backward : mix_backward,
                    .names = &names,
                    .a = a,
                    .b = b,
                    .flops = 2 * (uint64_t)(tensor_count(left) * shape.shape[2])};
  pd_status status = tape_tensor_new(c, &shape, y);
  if (status != PD_OK) return status;
  node.y = *y;
  status = multiply(c, tape_sequence(c->tape), node.flops, &node.y->value, left, right, false, transpose_b);
  return status == PD_OK ? tape_push(c, &node) : status;
}

/* ---- softmax, in the memory of the scores and of its gradient ---- */

static pd_tensor rows_of(const pd_tensor *x) {
  pd_tensor rows = tensor_matrix(x->dtype, x->shape[0] * x->shape[1], x->shape[2]);
  rows.data = x->data;
  return rows;
}

static pd_status softmax_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::_softmax_backward_data", PD_RANGE_OP);
  const pd_tensor dy = rows_of(&node->y->grad), y = rows_of(&node->y->value);
  const bool begun = OP_BEGIN(c, &site, .inputs = {&node->y->grad, &node->y->value});
  const pd_status status = c->t.softmax_backward(c->device, c->stream, &dy, &dy, &y, node->alpha);
  op_end(c, begun);
  return status == PD_OK ? tape_add_grad(c, node->a, &node->y->grad) : status;
}

static pd_status softmax(train_context *c, tape_tensor *x, double scale, tape_tensor **y) {
  static pd_site site = PD_SITE("aten::softmax", PD_RANGE_OP);
  static pd_site inner = PD_SITE("aten::_softmax", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("SoftmaxBackward0");
  const pd_tensor rows = rows_of(&x->value);
  pd_status status = tape_tensor_new(c, &x->value, y);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, &site, .sequence = tape_sequence(c->tape), .inputs = {&x->value});
  const bool nested = OP_BEGIN(c, &inner, .inputs = {&x->value});
  status = c->t.softmax_forward(c->device, c->stream, &rows, &rows, scale);
  op_end(c, nested);
  op_end(c, begun);
  const tape_node node = {.backward = softmax_backward, .names = &names, .a = x, .y = *y, .alpha = scale};
  return status == PD_OK ? tape_push(c, &node) : status;
}

pd_status attention_forward(train_context *c, tape_tensor *q, tape_tensor *k, tape_tensor *v, int64_t vectors,
                            int64_t heads, tape_tensor **y) {
  const int64_t width = q->value.shape[1] / heads;
  const double scale = 1 / sqrt((double)width);
  tape_tensor *x = NULL;
  pd_status status = split(c, q, vectors, heads, &q);
  if (status == PD_OK) status = split(c, k, vectors, heads, &k);
  if (status == PD_OK) status = split(c, v, vectors, heads, &v);
  if (status == PD_OK) status = product(c, q, k, true, &x);
  if (status == PD_OK) status = softmax(c, x, scale, &x);
  if (status == PD_OK) status = product(c, x, v, false, &x);
  return status == PD_OK ? join(c, x, heads, y) : status;
}
