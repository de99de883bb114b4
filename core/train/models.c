/* See models.h. */
#include "models.h"

#include "mlp.h"
#include "simple_cnn.h"
#include "transformer.h"

#include <string.h>

static bool is_named(const train_config *config, const char *name) {
  return config->model && strcmp(config->model, name) == 0;
}

bool model_is_cnn(const train_config *config) { return !config->model || is_named(config, "cnn"); }
bool model_attends(const train_config *config) { return is_named(config, "transformer"); }

pd_status model_build(train_context *c, parameters *all, const train_config *config, uint32_t width) {
  if (is_named(config, "mlp")) return mlp_build(c, all, config->seed, config->image_size);
  if (is_named(config, "transformer")) return transformer_build(c, all, config->seed, config->image_size);
  return simple_cnn_build(c, all, config->seed, width);
}

pd_status model_forward(train_context *c, parameters *all, const train_config *config, tape_tensor *x,
                        tape_tensor **logits) {
  if (is_named(config, "mlp")) return mlp_forward(c, all, x, logits);
  if (is_named(config, "transformer")) return transformer_forward(c, all, x, logits);
  return simple_cnn_forward(c, all, x, logits);
}
