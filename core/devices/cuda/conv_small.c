/* Decides which convolutions the small-convolution kernels take. */
#include "conv_small.h"

static void strides_of(const pd_tensor *t, int64_t stride[4]) {
  const int64_t c = t->shape[1], h = t->shape[2], w = t->shape[3];
  const bool pixels = t->layout == PD_NHWC;
  stride[0] = c * h * w;
  stride[1] = pixels ? 1 : h * w;
  stride[2] = pixels ? w * c : w;
  stride[3] = pixels ? c : 1;
}

bool conv_small_fits(const pd_tensor *x, const pd_tensor *w, const pd_tensor *y, const pd_conv2d *conv,
                     cuda_conv_small *out) {
  const int64_t pixels = y->shape[0] * y->shape[2] * y->shape[3];
  if (x->dtype == PD_BF16 || w->dtype == PD_BF16 || y->dtype == PD_BF16) return false;
  if (x->shape[1] > 3 || w->shape[2] != 3 || w->shape[3] != 3 || y->shape[1] % 64) return false;
  if (pixels > INT32_MAX / 2 || x->shape[2] > INT32_MAX || x->shape[3] > INT32_MAX || (uintptr_t)y->data % 16)
    return false;
  *out = (cuda_conv_small){.x = x->data,
                           .w = w->data,
                           .y = y->data,
                           .images = (int32_t)x->shape[0],
                           .channels = (int32_t)x->shape[1],
                           .height = (int32_t)x->shape[2],
                           .width = (int32_t)x->shape[3],
                           .out_channels = (int32_t)y->shape[1],
                           .out_height = (int32_t)y->shape[2],
                           .out_width = (int32_t)y->shape[3],
                           .stride = (int32_t)conv->stride,
                           .padding = (int32_t)conv->padding,
                           .x_dtype = x->dtype,
                           .y_dtype = y->dtype,
                           .w_dtype = w->dtype,
                           .nhwc = y->layout == PD_NHWC,
                           .tf32 = conv->allow_tf32};
  strides_of(x, out->x_stride);
  strides_of(w, out->w_stride);
  return true;
}
