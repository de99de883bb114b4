/* The model that [train] model names. [loop thread] */
#ifndef CORE_TRAIN_MODELS_H
#define CORE_TRAIN_MODELS_H

#include "parameters.h"
#include "tape.h"

bool model_is_cnn(const train_config *config);
/* Whether it needs attention_offered(). */
bool model_attends(const train_config *config);

/* Appends the model's parameters. `width`: see pd_train_model; 1 but for the cnn. */
pd_status model_build(train_context *c, parameters *all, const train_config *config, uint32_t width);
/* logits (N,1000) of x (N,3,H,W), which is of the context's type and layout. */
pd_status model_forward(train_context *c, parameters *all, const train_config *config, tape_tensor *x,
                        tape_tensor **logits);

#endif
