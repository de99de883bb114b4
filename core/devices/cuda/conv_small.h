/* The 3x3 convolutions of at most three input channels that kernels of ours do: the first layer. */
#ifndef DEVICES_CUDA_CONV_SMALL_H
#define DEVICES_CUDA_CONV_SMALL_H

#include "cuda_ops.h"

/* True and *out filled (but for bias, relu, mask, db and dw) where the kernels take this convolution. `y` is the result
 * or its gradient, `w` the weight or its gradient. */
bool conv_small_fits(const pd_tensor *x, const pd_tensor *w, const pd_tensor *y, const pd_conv2d *conv,
                     cuda_conv_small *out);

#endif
