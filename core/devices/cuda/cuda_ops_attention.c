/* What attention needs besides matrix products: softmax over rows, and heads out of the columns and back. */
#include "cuda_ops.h"

#define SOFTMAX_SHAPE "not matrices of one shape and floating-point type"

static bool is_like(const pd_tensor *t, const pd_tensor *like) {
  return tensor_same_shape(t, like) && t->dtype == like->dtype;
}

pd_status cuda_op_softmax_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                                  double scale) {
  OP_REQUIRE(x->rank == 2 && tensor_real(x) && is_like(y, x), "softmax_forward", SOFTMAX_SHAPE);
  if (!tensor_count(x)) return PD_OK;
  OP_LAUNCH("softmax_forward",
            cuda_softmax(&stream->launch, x->dtype, y->data, x->data, x->shape[0], x->shape[1], (float)scale));
}

pd_status cuda_op_softmax_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy,
                                   const pd_tensor *y, double scale) {
  OP_REQUIRE(y->rank == 2 && tensor_real(y) && is_like(dy, y) && is_like(dx, y), "softmax_backward", SOFTMAX_SHAPE);
  if (!tensor_count(y)) return PD_OK;
  OP_LAUNCH("softmax_backward", cuda_softmax_backward(&stream->launch, y->dtype, dx->data, dy->data, y->data,
                                                      y->shape[0], y->shape[1], (float)scale));
}

pd_status cuda_op_swap_middle(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  OP_REQUIRE(x->rank == 4 && y->rank == 4 && x->layout == PD_NCHW && y->layout == PD_NCHW, "swap_middle",
             "not two row-major tensors of rank 4");
  OP_REQUIRE(tensor_real(x) && y->dtype == x->dtype, "swap_middle",
             "the types differ, or are not floating-point types");
  OP_REQUIRE(y->shape[0] == x->shape[0] && y->shape[1] == x->shape[2] && y->shape[2] == x->shape[1] &&
                 y->shape[3] == x->shape[3],
             "swap_middle", "the shapes do not fit");
  if (!tensor_count(x)) return PD_OK;
  OP_LAUNCH("swap_middle", cuda_swap_middle(&stream->launch, x->dtype, y->data, x->data, x->shape));
}
