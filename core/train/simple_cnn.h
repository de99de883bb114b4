/* SimpleCNN: three convolutions, the mean over the plane, a linear head to 1000 classes. [loop thread] */
#ifndef CORE_TRAIN_SIMPLE_CNN_H
#define CORE_TRAIN_SIMPLE_CNN_H

#include "parameters.h"
#include "tape.h"

/* Appends conv1.weight, conv1.bias ... head.bias: the first eight parameters. `width` times as many channels as usual.
 */
pd_status simple_cnn_build(train_context *c, parameters *all, uint64_t seed, uint32_t width);
/* logits (N,1000) of x (N,3,H,W), which is of the context's type and layout. */
pd_status simple_cnn_forward(train_context *c, parameters *all, tape_tensor *x, tape_tensor **logits);

#endif
