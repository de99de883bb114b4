/* Linear layers, forward and backward. [loop thread] */
#ifndef CORE_TRAIN_LINEAR_H
#define CORE_TRAIN_LINEAR_H

#include "parameters.h"
#include "tape.h"

/* Appends weight (out,in) and bias (out), uniform in +-1/sqrt(in). */
pd_status linear_build(train_context *c, parameters *all, uint64_t seed, const char *weight, const char *bias,
                       int64_t in, int64_t out);

/* y (N,O) = x (N,I) weight (O,I)' + bias (O), in one launch as torch's addmm. */
pd_status linear_forward(train_context *c, tape_tensor *x, train_parameter_state *weight, train_parameter_state *bias,
                         tape_tensor **y);

#endif
