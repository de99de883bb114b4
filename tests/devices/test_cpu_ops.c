/* The device operation suite on the CPU device, or on the plugin that PDHOST_TEST_DEVICE names. */
#include "op_suite.h"
#include "pd_test.h"

#define FORMATS(name)                                                                                                  \
  PD_TEST(device_ops, name) {                                                                                          \
    device_rig rig;                                                                                                    \
    rig_open(&rig);                                                                                                    \
    suite_each_format(&rig, suite_##name);                                                                             \
    rig_close(&rig);                                                                                                   \
  }
#define ONCE(name)                                                                                                     \
  PD_TEST(device_ops, name) {                                                                                          \
    device_rig rig;                                                                                                    \
    rig_open(&rig);                                                                                                    \
    suite_##name(&rig);                                                                                                \
    rig_close(&rig);                                                                                                   \
  }

FORMATS(conv_forward)
FORMATS(conv_backward)
FORMATS(conv_fused_backward)
FORMATS(conv_differences)
FORMATS(conv_forward_tf32)
FORMATS(conv_backward_tf32)
FORMATS(conv_fused_backward_tf32)
FORMATS(bias)
FORMATS(mean_hw)
FORMATS(fill_convert)
FORMATS(elementwise)
FORMATS(mean)
FORMATS(copy_columns)
FORMATS(matmul)
FORMATS(matmul_tf32)
FORMATS(layer_norm)
FORMATS(layer_norm_differences)
FORMATS(tiny_round)
FORMATS(cross_entropy)
FORMATS(batched_matmul)
FORMATS(softmax)
FORMATS(swap_middle)
ONCE(sum_rows)
ONCE(randn)
ONCE(adamw)
ONCE(adamw_skips)
ONCE(unscale)
ONCE(scaler)
ONCE(spin)
