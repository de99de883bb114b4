/* 3x3 convolutions of the model, forward and backward. [loop thread] */
#ifndef CORE_TRAIN_CONV_H
#define CORE_TRAIN_CONV_H

#include "tape.h"

/* y (N,O,H',W') = relu(conv(x (N,I,H,W), weight (O,I,3,3)) + bias (O)), stride 2, padding 1. Fused: one call. Else the
 * convolution, the bias and the ReLU are operations of their own. */
pd_status conv2d_relu_forward(train_context *c, tape_tensor *x, train_parameter_state *weight,
                              train_parameter_state *bias, tape_tensor **y);

#endif
