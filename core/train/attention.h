/* Multi-head attention between the vectors of each sample, forward and backward: products by device.h's batched_matmul,
 * softmax_* and swap_middle, which attention_offered() asks for. [loop thread] */
#ifndef CORE_TRAIN_ATTENTION_H
#define CORE_TRAIN_ATTENTION_H

#include "tape.h"

bool attention_offered(const pd_tensor_ops *ops);

/* y (N T, D): of each of N samples and each of `heads`, softmax(q k' / sqrt(D / heads)) v over its T = `vectors` rows
 * of q, k and v (N T, D), which lie one sample after the other; a head's are D / heads columns beside one another. */
pd_status attention_forward(train_context *c, tape_tensor *q, tape_tensor *k, tape_tensor *v, int64_t vectors,
                            int64_t heads, tape_tensor **y);

#endif
