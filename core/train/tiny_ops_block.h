/* TinyOpsBlock(256): rounds of tiny operations on the first 256 logits. [loop thread] */
#ifndef CORE_TRAIN_TINY_OPS_BLOCK_H
#define CORE_TRAIN_TINY_OPS_BLOCK_H

#include "parameters.h"
#include "tape.h"

/* The usual number of rounds, and the most that a tape holds. */
enum { TINY_OPS_ROUNDS = 30, TINY_OPS_ROUNDS_MOST = 120, TINY_OPS_WIDTH = 256 };

/* Appends ln.weight, ln.bias, proj.weight, proj.bias, which all rounds share. */
pd_status tiny_ops_block_build(train_context *c, parameters *all, uint64_t seed);
/* y = logits (N,1000) with the result of `rounds` rounds in the place of the first 256. Unfused: seven launches a
 * round. `own`: the four parameters. */
pd_status tiny_ops_block_forward(train_context *c, train_parameter_state *own, uint32_t rounds, tape_tensor *logits,
                                 tape_tensor **y);

#endif
