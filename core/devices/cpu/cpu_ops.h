/* The tensor operations of the CPU device, a file per family, and what they share: checks of shapes and types. */
#ifndef DEVICES_CPU_OPS_H
#define DEVICES_CPU_OPS_H

#include "cpu_device.h"

static inline int64_t tensor_count(const pd_tensor *t) {
  int64_t count = 1;
  for (uint32_t i = 0; i < t->rank; i++) count *= t->shape[i];
  return count;
}
/* Rows and columns of rank 2. */
static inline bool is_matrix(const pd_tensor *t, int64_t rows, int64_t columns) {
  return t->rank == 2 && t->dtype == PD_F32 && t->shape[0] == rows && t->shape[1] == columns;
}
static inline bool is_vector(const pd_tensor *t, int64_t count) {
  return t->dtype == PD_F32 && tensor_count(t) == count;
}
static inline bool is_image(const pd_tensor *t) { return t->rank == 4 && t->dtype == PD_F32; }
static inline bool same_shape(const pd_tensor *a, const pd_tensor *b) {
  if (a->rank != b->rank || a->layout != b->layout) return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}

/* Fails with the operation's name. */
static inline pd_status refuse(const pd_device *device, const char *operation) {
  return device->host->fail(device->host, PD_INVALID, "%s: shapes, types or layouts do not fit (CPU device, float32)",
                            operation);
}

#define OP(name) pd_status cpu_##name
OP(conv2d_forward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *, bool,
 const pd_conv2d *);
OP(conv2d_backward_data)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_conv2d *);
OP(conv2d_backward_weight)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_conv2d *);
OP(bias_forward)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *);
OP(bias_backward)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, bool);
OP(bias_relu_backward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *);
OP(mean_hw_forward)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *);
OP(mean_hw_backward)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *);
OP(matmul)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *, bool, bool, bool,
 bool);
OP(sum_rows)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *);
OP(batched_matmul)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, bool, bool, bool);
OP(softmax_forward)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, double);
OP(softmax_backward)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, double);
OP(swap_middle)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *);
OP(fill)(pd_device *, pd_stream *, const pd_tensor *, double);
OP(randn)(pd_device *, pd_stream *, const pd_tensor *, uint64_t, uint64_t);
OP(convert)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *);
OP(elementwise)
(pd_device *, pd_stream *, pd_elementwise, const pd_tensor *, const pd_tensor *, const pd_tensor *, double);
OP(mean)(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *);
OP(copy_columns)(pd_device *, pd_stream *, const pd_tensor *, int64_t, const pd_tensor *, int64_t, int64_t);
OP(layer_norm_forward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *,
 const pd_tensor *, const pd_tensor *, double);
OP(layer_norm_backward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *,
 const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *, bool);
OP(tiny_round_forward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *,
 const pd_tensor *, const pd_tensor *, double);
OP(tiny_round_backward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *,
 const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *, bool);
OP(cross_entropy_forward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *);
OP(cross_entropy_backward)
(pd_device *, pd_stream *, const pd_tensor *, const pd_tensor *, const pd_tensor *, const pd_tensor *);
OP(adamw)(pd_device *, pd_stream *, const pd_parameter *, int64_t, const pd_adamw *);
OP(unscale)(pd_device *, pd_stream *, const pd_parameter *, int64_t, const pd_scaler *);
OP(scaler_update)(pd_device *, pd_stream *, const pd_scaler *);
OP(spin)(pd_device *, pd_stream *, int64_t);
#undef OP

#endif
