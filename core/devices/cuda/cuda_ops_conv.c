/* Convolutions: the first layer's through kernels of ours, the others through cuDNN. */
#include "conv_plan.h"
#include "conv_small.h"

#include <string.h>

static pd_status check(pd_device *device, const char *operation, const pd_tensor *x, const pd_tensor *w,
                       const pd_tensor *y, const pd_conv2d *conv) {
  OP_REQUIRE(x->rank == 4 && w->rank == 4 && y->rank == 4, operation, "not tensors of rank 4");
  OP_REQUIRE(tensor_real(x) && tensor_real(w) && tensor_real(y), operation, "a type is not a floating-point type");
  OP_REQUIRE(conv->stride > 0, operation, "the stride is 0");
  const int64_t stride = conv->stride, twice = 2 * (int64_t)conv->padding;
  const int64_t oh = (x->shape[2] + twice - w->shape[2]) / stride + 1;
  const int64_t ow = (x->shape[3] + twice - w->shape[3]) / stride + 1;
  OP_REQUIRE(w->shape[1] == x->shape[1] && y->shape[0] == x->shape[0] && y->shape[1] == w->shape[0] &&
                 y->shape[2] == oh && y->shape[3] == ow,
             operation, "the shapes do not fit");
  return PD_OK;
}

static pd_status run(pd_device *device, pd_stream *stream, conv_direction direction, const pd_tensor *x,
                     const pd_tensor *w, const pd_tensor *y, const pd_tensor *bias, bool relu, const pd_conv2d *conv) {
  conv_key key;
  memset(&key, 0, sizeof key);
  key.n = x->shape[0], key.c = x->shape[1], key.h = x->shape[2], key.w = x->shape[3];
  key.o = y->shape[1], key.oh = y->shape[2], key.ow = y->shape[3];
  key.kh = w->shape[2], key.kw = w->shape[3];
  key.direction = direction, key.stride = conv->stride, key.padding = conv->padding, key.tf32 = conv->allow_tf32 != 0;
  key.x_dtype = x->dtype, key.w_dtype = w->dtype, key.y_dtype = y->dtype;
  key.x_layout = x->layout, key.w_layout = w->layout, key.y_layout = y->layout;
  key.bias = bias != NULL, key.relu = bias != NULL && relu;
  const conv_arguments arguments = {.x = x->data, .w = w->data, .y = y->data, .bias = bias ? bias->data : NULL};
  conv_plan *plan = NULL;
  pthread_mutex_lock(&device->lock);
  pd_status status = conv_choose(device, stream, &key, &arguments, &plan);
  if (status == PD_OK) status = conv_run(device, stream, plan, &arguments);
  const bool separate = status == PD_OK && plan->form == CONV_PLAIN;
  pthread_mutex_unlock(&device->lock);
  if (separate && bias) status = cuda_op_bias_relu(device, stream, y, y, bias, relu);
  return status;
}

pd_status cuda_op_conv2d_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                                 const pd_tensor *w, const pd_tensor *bias, bool relu, const pd_conv2d *conv) {
  pd_status status = check(device, "conv2d_forward", x, w, y, conv);
  if (status == PD_OK) status = cuda_bind(device);
  if (status != PD_OK) return status;
  OP_REQUIRE(!bias || tensor_f32_of(bias, y->shape[1]), "conv2d_forward", "bias is not one float32 per channel");
  cuda_conv_small small;
  if (conv_small_fits(x, w, y, conv, &small)) {
    small.bias = bias ? bias->data : NULL;
    small.relu = relu;
    return cuda_check(device, cuda_conv_small_forward(&stream->launch, &small), "conv2d_forward");
  }
  status = run(device, stream, CONV_FORWARD, x, w, y, bias, relu, conv);
  if (status != PD_OK || bias || !relu) return status;
  return cuda_op_elementwise(device, stream, PD_EW_RELU, y, y, NULL, 0);
}

pd_status cuda_op_conv2d_backward_data(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy,
                                       const pd_tensor *w, const pd_conv2d *conv) {
  pd_status status = check(device, "conv2d_backward_data", dx, w, dy, conv);
  if (status == PD_OK) status = cuda_bind(device);
  if (status != PD_OK) return status;
  return run(device, stream, CONV_BACKWARD_DATA, dx, w, dy, NULL, false, conv);
}

pd_status cuda_op_conv2d_backward_weight(pd_device *device, pd_stream *stream, const pd_tensor *dw, const pd_tensor *dy,
                                         const pd_tensor *x, const pd_conv2d *conv) {
  pd_status status = check(device, "conv2d_backward_weight", x, dw, dy, conv);
  if (status == PD_OK) status = cuda_bind(device);
  if (status != PD_OK) return status;
  cuda_conv_small small;
  if (conv_small_fits(x, dw, dy, conv, &small)) {
    small.dw = dw->data;
    return cuda_check(device, cuda_conv_small_weight(&stream->launch, &small), "conv2d_backward_weight");
  }
  return run(device, stream, CONV_BACKWARD_WEIGHT, x, dw, dy, NULL, false, conv);
}

pd_status cuda_op_conv2d_relu_backward_weight(pd_device *device, pd_stream *stream, const pd_tensor *dw,
                                              const pd_tensor *db, const pd_tensor *dy, const pd_tensor *y,
                                              const pd_tensor *x, const pd_conv2d *conv) {
  pd_status status = check(device, "conv2d_relu_backward_weight", x, dw, dy, conv);
  if (status == PD_OK) status = cuda_bind(device);
  if (status != PD_OK) return status;
  OP_REQUIRE(tensor_same(y, dy) && y->dtype == dy->dtype, "conv2d_relu_backward_weight",
             "dy and y differ in type, shape or layout");
  OP_REQUIRE(tensor_f32_of(db, dy->shape[1]), "conv2d_relu_backward_weight", "db is not one float32 per channel");
  cuda_conv_small small;
  if (conv_small_fits(x, dw, dy, conv, &small) && (uintptr_t)y->data % 16 == 0) {
    small.mask = y->data;
    small.dw = dw->data;
    small.db = db->data;
    return cuda_check(device, cuda_conv_small_weight(&stream->launch, &small), "conv2d_relu_backward_weight");
  }
  status = cuda_op_bias_relu_backward(device, stream, dy, db, dy, y);
  return status != PD_OK ? status : run(device, stream, CONV_BACKWARD_WEIGHT, x, dw, dy, NULL, false, conv);
}
