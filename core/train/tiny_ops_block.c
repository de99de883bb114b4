/* See tiny_ops_block.h. */
#include "tiny_ops_block.h"

#include "elementwise.h"
#include "linear.h"
#include "norm.h"

enum { LN = 0, PROJ = 2 }; /* after the model's parameters */

pd_status tiny_ops_block_build(train_context *c, parameters *all, uint64_t seed) {
  const pd_status status = norm_layer_build(c, all, seed, "ln.weight", "ln.bias", TINY_OPS_WIDTH);
  if (status != PD_OK) return status;
  return linear_build(c, all, seed, "proj.weight", "proj.bias", TINY_OPS_WIDTH, TINY_OPS_WIDTH);
}

/* x = x + 0.01*tanh(x); x = x*sigmoid(x); x = layer_norm(x); x = linear(x) */
static pd_status round_forward(train_context *c, train_parameter_state *own, tape_tensor **x) {
  tape_tensor *h = *x, *t = NULL;
  pd_status status = PD_OK;
  if (c->fused && norm_tiny_round_offered(c)) {
    status = norm_tiny_round_forward(c, h, &own[LN], &own[LN + 1], &h);
  } else {
    status = elementwise_tanh_forward(c, h, &t);
    if (status == PD_OK) status = elementwise_scale_forward(c, t, 0.01, &t);
    if (status == PD_OK) status = elementwise_add_forward(c, h, t, &h);
    if (status == PD_OK) status = elementwise_sigmoid_forward(c, h, &t);
    if (status == PD_OK) status = elementwise_mul_forward(c, h, t, &h);
    if (status == PD_OK) status = norm_layer_forward(c, h, &own[LN], &own[LN + 1], &h);
  }
  return status == PD_OK ? linear_forward(c, h, &own[PROJ], &own[PROJ + 1], x) : status;
}

pd_status tiny_ops_block_forward(train_context *c, train_parameter_state *own, uint32_t rounds, tape_tensor *logits,
                                 tape_tensor **y) {
  static module_site site = MODULE_SITE("TinyOpsBlock_0", "TinyOpsBlock");
  const module_mark mark = train_module_begin(c, &site);
  tape_tensor *x = NULL;
  pd_status status = elementwise_slice_forward(c, logits, TINY_OPS_WIDTH, &x);
  for (uint32_t i = 0; i < rounds && status == PD_OK; i++) status = round_forward(c, own, &x);
  if (status == PD_OK) status = elementwise_cat_forward(c, x, logits, y);
  train_module_end(c, mark);
  return status;
}
