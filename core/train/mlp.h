/* The mlp: an image as one row, two hidden layers of 256 with ReLU, a linear head to 1000 classes. [loop thread] */
#ifndef CORE_TRAIN_MLP_H
#define CORE_TRAIN_MLP_H

#include "parameters.h"
#include "tape.h"

enum { MLP_HIDDEN = 256 };

/* Appends fc1.weight, fc1.bias, fc2.weight ... head.bias: six parameters, for images of `image_size` pixels a side. */
pd_status mlp_build(train_context *c, parameters *all, uint64_t seed, int64_t image_size);
/* logits (N,1000) of x (N,3,H,W), which is of the context's type and NCHW. */
pd_status mlp_forward(train_context *c, parameters *all, tape_tensor *x, tape_tensor **logits);

#endif
