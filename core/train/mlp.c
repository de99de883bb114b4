/* See mlp.h. */
#include "mlp.h"

#include "elementwise.h"
#include "linear.h"

enum { CHANNELS = 3, LAYERS = 3 };

pd_status mlp_build(train_context *c, parameters *all, uint64_t seed, int64_t image_size) {
  pd_status status =
      linear_build(c, all, seed, "fc1.weight", "fc1.bias", CHANNELS * image_size * image_size, MLP_HIDDEN);
  if (status == PD_OK) status = linear_build(c, all, seed, "fc2.weight", "fc2.bias", MLP_HIDDEN, MLP_HIDDEN);
  return status == PD_OK ? linear_build(c, all, seed, "head.weight", "head.bias", MLP_HIDDEN, MODEL_CLASSES) : status;
}

/* The images' rows one after the other, in the same memory. */
static pd_status flatten(train_context *c, const tape_tensor *x, tape_tensor **y) {
  const int64_t samples = x->value.shape[0];
  pd_tensor rows = tensor_matrix(c->dtype, samples, tensor_count(&x->value) / samples);
  rows.data = x->value.data;
  return tape_tensor_new(c, &rows, y);
}

pd_status mlp_forward(train_context *c, parameters *all, tape_tensor *x, tape_tensor **logits) {
  static module_site model = MODULE_SITE("MLP_0", "MLP");
  static module_site layers[LAYERS] = {MODULE_SITE("Linear_0", "MLP.fc1"), MODULE_SITE("Linear_1", "MLP.fc2"),
                                       MODULE_SITE("Linear_2", "MLP.head")};
  const module_mark outer = train_module_begin(c, &model);
  pd_status status = flatten(c, x, &x);
  for (size_t i = 0; i < LAYERS && status == PD_OK; i++) {
    const module_mark mark = train_module_begin(c, &layers[i]);
    status = linear_forward(c, x, &all->at[2 * i], &all->at[2 * i + 1], &x);
    train_module_end(c, mark);
    if (status == PD_OK && i < LAYERS - 1) status = elementwise_relu_forward(c, x, &x);
  }
  *logits = x;
  train_module_end(c, outer);
  return status;
}
