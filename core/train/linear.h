/* Linear layers, forward and backward. [loop thread] */
#ifndef CORE_TRAIN_LINEAR_H
#define CORE_TRAIN_LINEAR_H

#include "tape.h"

/* y (N,O) = x (N,I) weight (O,I)' + bias (O), in one launch as torch's addmm. */
pd_status linear_forward(train_context *c, tape_tensor *x, train_parameter_state *weight, train_parameter_state *bias,
                         tape_tensor **y);

#endif
