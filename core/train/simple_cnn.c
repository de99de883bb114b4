/* See simple_cnn.h. */
#include "simple_cnn.h"

#include "conv.h"
#include "linear.h"
#include "norm.h"

enum { HEAD = 6, FEATURES = 256 };

static const int64_t channels[] = {3, 64, 128, FEATURES};

pd_status simple_cnn_build(train_context *c, parameters *all, uint64_t seed, uint32_t width) {
  static const char *const weights[] = {"conv1.weight", "conv2.weight", "conv3.weight"};
  static const char *const biases[] = {"conv1.bias", "conv2.bias", "conv3.bias"};
  pd_status status = PD_OK;
  for (int i = 0; i < 3 && status == PD_OK; i++) {
    const int64_t in = i ? channels[i] * width : channels[i], out = channels[i + 1] * width, fan_in = in * 9;
    const parameter_kind weight = {.name = weights[i],
                                   .shape = tensor_image(PD_F32, PD_NCHW, out, in, 3, 3),
                                   .fan_in = fan_in,
                                   .multiplied = true};
    const parameter_kind bias = {.name = biases[i], .shape = tensor_vector(PD_F32, out), .fan_in = fan_in};
    status = parameters_add(c, all, seed, &weight);
    if (status == PD_OK) status = parameters_add(c, all, seed, &bias);
  }
  if (status != PD_OK) return status;
  return linear_build(c, all, seed, "head.weight", "head.bias", (int64_t)FEATURES * width, MODEL_CLASSES);
}

pd_status simple_cnn_forward(train_context *c, parameters *all, tape_tensor *x, tape_tensor **logits) {
  static module_site model = MODULE_SITE("SimpleCNN_0", "SimpleCNN");
  static module_site convs[] = {MODULE_SITE("Conv2d_0", "SimpleCNN.conv1"), MODULE_SITE("Conv2d_1", "SimpleCNN.conv2"),
                                MODULE_SITE("Conv2d_2", "SimpleCNN.conv3")};
  static module_site head = MODULE_SITE("Linear_0", "SimpleCNN.head");
  const module_mark outer = train_module_begin(c, &model);
  pd_status status = PD_OK;
  for (size_t i = 0; i < 3 && status == PD_OK; i++) {
    const module_mark mark = train_module_begin(c, &convs[i]);
    status = conv2d_relu_forward(c, x, &all->at[2 * i], &all->at[2 * i + 1], &x);
    train_module_end(c, mark);
  }
  if (status == PD_OK) status = norm_mean_hw_forward(c, x, &x);
  const module_mark mark = train_module_begin(c, &head);
  if (status == PD_OK) status = linear_forward(c, x, &all->at[HEAD], &all->at[HEAD + 1], logits);
  train_module_end(c, mark);
  train_module_end(c, outer);
  return status;
}
