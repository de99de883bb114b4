/* Element by element operations and moves of columns, forward and backward, one launch each. [loop thread] */
#ifndef CORE_TRAIN_ELEMENTWISE_H
#define CORE_TRAIN_ELEMENTWISE_H

#include "tape.h"

/* y = max(x, 0), in x's memory. */
pd_status elementwise_relu_forward(train_context *c, tape_tensor *x, tape_tensor **y);
pd_status elementwise_tanh_forward(train_context *c, tape_tensor *x, tape_tensor **y);
pd_status elementwise_sigmoid_forward(train_context *c, tape_tensor *x, tape_tensor **y);
/* y = alpha * x */
pd_status elementwise_scale_forward(train_context *c, tape_tensor *x, double alpha, tape_tensor **y);
/* y = a + b, y = a * b */
pd_status elementwise_add_forward(train_context *c, tape_tensor *a, tape_tensor *b, tape_tensor **y);
pd_status elementwise_mul_forward(train_context *c, tape_tensor *a, tape_tensor *b, tape_tensor **y);

/* y (N,columns) = x[:, :columns]. */
pd_status elementwise_slice_forward(train_context *c, tape_tensor *x, int64_t columns, tape_tensor **y);
/* y = cat(a (N,A), x[:, A:]): a in the place of x's first columns. Nothing but one slice of those columns may use x
 * besides, for the gradient of x is y's, and slice's backward pass overwrites its first columns. */
pd_status elementwise_cat_forward(train_context *c, tape_tensor *a, tape_tensor *x, tape_tensor **y);

#endif
