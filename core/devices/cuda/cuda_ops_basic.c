/* The operation table, and the operations that know nothing of layers. */
#include "cuda_ops.h"

static bool op_supports(pd_device *device, pd_dtype dtype, pd_layout layout) {
  (void)device;
  return (dtype == PD_F32 || dtype_half(dtype)) && (layout == PD_NCHW || layout == PD_NHWC);
}

static pd_status cuda_op_fill(pd_device *device, pd_stream *stream, const pd_tensor *y, double value) {
  const int64_t count = tensor_count(y);
  if (!count) return PD_OK;
  OP_LAUNCH("fill", cuda_fill(&stream->launch, y->data, y->dtype, count, value));
}

static pd_status op_randn(pd_device *device, pd_stream *stream, const pd_tensor *y, uint64_t seed, uint64_t offset) {
  const int64_t count = tensor_count(y);
  OP_REQUIRE(y->dtype == PD_F32, "randn", "y is not float32");
  if (!count) return PD_OK;
  OP_LAUNCH("randn", cuda_randn(&stream->launch, y->data, count, seed, offset));
}

static pd_status op_convert(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  const int64_t count = tensor_count(x);
  OP_REQUIRE(tensor_same_shape(y, x), "convert", "the shapes differ");
  if (!count) return PD_OK;
  const pd_status status = cuda_bind(device);
  if (status != PD_OK) return status;
  if (tensor_same(y, x)) {
    if (y->dtype == x->dtype)
      return cuda_check(device,
                        cudaMemcpyAsync(y->data, x->data, (uint64_t)count * dtype_bytes(x->dtype),
                                        cudaMemcpyDeviceToDevice, stream->handle),
                        "convert");
    OP_REQUIRE(tensor_real(y) && tensor_real(x), "convert", "a type is not a floating-point type");
    return cuda_check(device, cuda_convert(&stream->launch, y->data, y->dtype, x->data, x->dtype, count), "convert");
  }
  OP_REQUIRE(tensor_real(y) && tensor_real(x), "convert", "a type is not a floating-point type");
  return cuda_check(device,
                    cuda_transpose(&stream->launch, y->data, y->dtype, x->data, x->dtype, x->shape[0], x->shape[1],
                                   x->shape[2] * x->shape[3], y->layout == PD_NHWC),
                    "convert");
}

static pd_status op_mean(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  OP_REQUIRE(tensor_f32_of(y, 1) && tensor_real(x), "mean", "y is not one float32, or x no floating-point type");
  OP_LAUNCH("mean", cuda_mean(&stream->launch, y->data, x->dtype, x->data, tensor_count(x)));
}

static pd_status op_sum_rows(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  OP_REQUIRE(x->rank == 2 && x->dtype == PD_F32 && tensor_f32_of(y, x->shape[0]), "sum_rows",
             "x is not a float32 matrix, or y not one float32 per row");
  if (!x->shape[0]) return PD_OK;
  OP_LAUNCH("sum_rows", cuda_sum_rows(&stream->launch, y->data, x->data, x->shape[0], x->shape[1]));
}

static pd_status op_copy_columns(pd_device *device, pd_stream *stream, const pd_tensor *y, int64_t y_column,
                                 const pd_tensor *x, int64_t x_column, int64_t columns) {
  OP_REQUIRE(y->rank == 2 && x->rank == 2 && y->shape[0] == x->shape[0], "copy_columns",
             "not two matrices with the same number of rows");
  OP_REQUIRE(tensor_real(y) && tensor_real(x), "copy_columns", "a type is not a floating-point type");
  OP_REQUIRE(columns >= 0 && y_column >= 0 && x_column >= 0 && y_column + columns <= y->shape[1] &&
                 x_column + columns <= x->shape[1],
             "copy_columns", "the columns are outside the matrix");
  if (!columns || !x->shape[0]) return PD_OK;
  char *to = (char *)y->data + (uint64_t)y_column * dtype_bytes(y->dtype);
  const char *from = (const char *)x->data + (uint64_t)x_column * dtype_bytes(x->dtype);
  OP_LAUNCH("copy_columns", cuda_copy_columns(&stream->launch, to, y->dtype, y->shape[1], from, x->dtype, x->shape[1],
                                              x->shape[0], columns));
}

static pd_status op_spin(pd_device *device, pd_stream *stream, int64_t ns) {
  OP_REQUIRE(ns >= 0, "spin", "a time below zero");
  OP_LAUNCH("spin", cuda_spin(&stream->launch, ns));
}

const pd_tensor_ops cuda_tensor_ops = {.size = sizeof(pd_tensor_ops),
                                       .supports = op_supports,
                                       .fill = cuda_op_fill,
                                       .randn = op_randn,
                                       .convert = op_convert,
                                       .elementwise = cuda_op_elementwise,
                                       .mean = op_mean,
                                       .copy_columns = op_copy_columns,
                                       .conv2d_forward = cuda_op_conv2d_forward,
                                       .conv2d_backward_data = cuda_op_conv2d_backward_data,
                                       .conv2d_backward_weight = cuda_op_conv2d_backward_weight,
                                       .bias_forward = cuda_op_bias_forward,
                                       .bias_backward = cuda_op_bias_backward,
                                       .bias_relu_backward = cuda_op_bias_relu_backward,
                                       .mean_hw_forward = cuda_op_mean_hw_forward,
                                       .mean_hw_backward = cuda_op_mean_hw_backward,
                                       .matmul = cuda_op_matmul,
                                       .layer_norm_forward = cuda_op_layer_norm_forward,
                                       .layer_norm_backward = cuda_op_layer_norm_backward,
                                       .cross_entropy_forward = cuda_op_cross_entropy_forward,
                                       .cross_entropy_backward = cuda_op_cross_entropy_backward,
                                       .tiny_round_forward = cuda_op_tiny_round_forward,
                                       .tiny_round_backward = cuda_op_tiny_round_backward,
                                       .adamw = cuda_op_adamw,
                                       .unscale = cuda_op_unscale,
                                       .scaler_update = cuda_op_scaler_update,
                                       .conv2d_relu_backward_weight = cuda_op_conv2d_relu_backward_weight,
                                       .mean_hw_relu_backward = cuda_op_mean_hw_relu_backward,
                                       .spin = op_spin,

                                       .sum_rows = op_sum_rows,
                                       .batched_matmul = cuda_op_batched_matmul,
                                       .softmax_forward = cuda_op_softmax_forward,
                                       .softmax_backward = cuda_op_softmax_backward,
                                       .swap_middle = cuda_op_swap_middle};
