/* The table of the CPU device's tensor operations. */
#include "cpu_ops.h"

/* Half precision would be emulated: a clear refusal teaches more than a slow run. */
static bool supports(pd_device *device, pd_dtype dtype, pd_layout layout) {
  (void)device;
  (void)layout;
  return dtype == PD_F32;
}

const pd_tensor_ops cpu_tensor_ops = {.size = sizeof(pd_tensor_ops),
                                      .supports = supports,
                                      .fill = cpu_fill,
                                      .randn = cpu_randn,
                                      .convert = cpu_convert,
                                      .elementwise = cpu_elementwise,
                                      .mean = cpu_mean,
                                      .copy_columns = cpu_copy_columns,
                                      .conv2d_forward = cpu_conv2d_forward,
                                      .conv2d_backward_data = cpu_conv2d_backward_data,
                                      .conv2d_backward_weight = cpu_conv2d_backward_weight,
                                      .bias_forward = cpu_bias_forward,
                                      .bias_backward = cpu_bias_backward,
                                      .bias_relu_backward = cpu_bias_relu_backward,
                                      .mean_hw_forward = cpu_mean_hw_forward,
                                      .mean_hw_backward = cpu_mean_hw_backward,
                                      .matmul = cpu_matmul,
                                      .layer_norm_forward = cpu_layer_norm_forward,
                                      .layer_norm_backward = cpu_layer_norm_backward,
                                      .cross_entropy_forward = cpu_cross_entropy_forward,
                                      .cross_entropy_backward = cpu_cross_entropy_backward,
                                      .tiny_round_forward = cpu_tiny_round_forward,
                                      .tiny_round_backward = cpu_tiny_round_backward,
                                      .adamw = cpu_adamw,
                                      .unscale = cpu_unscale,
                                      .scaler_update = cpu_scaler_update,
                                      .spin = cpu_spin,

                                      .sum_rows = cpu_sum_rows,
                                      .batched_matmul = cpu_batched_matmul,
                                      .softmax_forward = cpu_softmax_forward,
                                      .softmax_backward = cpu_softmax_backward,
                                      .swap_middle = cpu_swap_middle};
