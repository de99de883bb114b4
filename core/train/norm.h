/* LayerNorm, TinyOpsBlock's fused round, the mean over an image's plane; forward and backward. [loop thread] */
#ifndef CORE_TRAIN_NORM_H
#define CORE_TRAIN_NORM_H

#include "parameters.h"
#include "tape.h"

/* Appends gamma (D) of ones and beta (D) of zeros. */
pd_status norm_layer_build(train_context *c, parameters *all, uint64_t seed, const char *gamma, const char *beta,
                           int64_t columns);
/* y (R,D) = layer_norm(x (R,D)) * gamma (D) + beta (D), eps 1e-5; statistics in float32. */
pd_status norm_layer_forward(train_context *c, tape_tensor *x, train_parameter_state *gamma,
                             train_parameter_state *beta, tape_tensor **y);
/* h = x + 0.01 tanh x; g = h sigmoid h; y = layer_norm(g), in one launch. Only where norm_tiny_round_offered(). */
pd_status norm_tiny_round_forward(train_context *c, tape_tensor *x, train_parameter_state *gamma,
                                  train_parameter_state *beta, tape_tensor **y);
bool norm_tiny_round_offered(const train_context *c);

/* y (N,C) = mean over H and W of x (N,C,H,W). */
pd_status norm_mean_hw_forward(train_context *c, tape_tensor *x, tape_tensor **y);

#endif
