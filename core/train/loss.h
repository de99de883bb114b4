/* Mean cross entropy, forward and backward. [loop thread] */
#ifndef CORE_TRAIN_LOSS_H
#define CORE_TRAIN_LOSS_H

#include "tape.h"

/* loss (1) = mean cross entropy of logits (N,K) and labels (N); `loss` has its memory. The backward pass starts here,
 * with `scale` (1) as the loss's gradient, or 1 where NULL. */
pd_status loss_cross_entropy_forward(train_context *c, tape_tensor *logits, const pd_tensor *labels,
                                     const pd_tensor *scale, const pd_tensor *loss);

#endif
