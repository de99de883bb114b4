/* What the files of the operation table share. Every operation checks its tensors, launches on the stream and returns;
 * any thread may call it. */
#ifndef DEVICES_CUDA_OPS_H
#define DEVICES_CUDA_OPS_H

#include "cuda_error.h"

static inline int64_t tensor_count(const pd_tensor *t) {
  int64_t count = 1;
  for (uint32_t i = 0; i < t->rank; i++) count *= t->shape[i];
  return count;
}
static inline bool dtype_half(pd_dtype dtype) { return dtype == PD_F16 || dtype == PD_BF16; }
static inline bool tensor_real(const pd_tensor *t) { return t->dtype == PD_F32 || dtype_half(t->dtype); }
static inline bool tensor_same_shape(const pd_tensor *a, const pd_tensor *b) {
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}
/* The same shape and element order. */
static inline bool tensor_same(const pd_tensor *a, const pd_tensor *b) {
  return tensor_same_shape(a, b) && (a->rank != 4 || a->layout == b->layout);
}
static inline uint64_t dtype_bytes(pd_dtype dtype) {
  return dtype_half(dtype) ? 2 : dtype == PD_I64 ? 8 : dtype == PD_U8 ? 1 : 4;
}
/* A vector of float32 with `count` elements. */
static inline bool tensor_f32_of(const pd_tensor *t, int64_t count) {
  return t->dtype == PD_F32 && tensor_count(t) == count;
}

#define OP_REQUIRE(condition, operation, why)                                                                          \
  do {                                                                                                                 \
    if (!(condition)) return cuda_refuse(device, operation, why);                                                      \
  } while (0)
#define OP_LAUNCH(operation, call)                                                                                     \
  do {                                                                                                                 \
    const pd_status bind_status_ = cuda_bind(device);                                                                  \
    return bind_status_ != PD_OK ? bind_status_ : cuda_check(device, (call), operation);                               \
  } while (0)

/* The operations, for the table in cuda_ops_basic.c. */
pd_status cuda_op_elementwise(pd_device *device, pd_stream *stream, pd_elementwise op, const pd_tensor *y,
                              const pd_tensor *a, const pd_tensor *b, double alpha);
pd_status cuda_op_conv2d_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                                 const pd_tensor *w, const pd_tensor *bias, bool relu, const pd_conv2d *conv);
pd_status cuda_op_conv2d_backward_data(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy,
                                       const pd_tensor *w, const pd_conv2d *conv);
pd_status cuda_op_conv2d_backward_weight(pd_device *device, pd_stream *stream, const pd_tensor *dw, const pd_tensor *dy,
                                         const pd_tensor *x, const pd_conv2d *conv);
pd_status cuda_op_conv2d_relu_backward_weight(pd_device *device, pd_stream *stream, const pd_tensor *dw,
                                              const pd_tensor *db, const pd_tensor *dy, const pd_tensor *y,
                                              const pd_tensor *x, const pd_conv2d *conv);
pd_status cuda_op_bias_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                               const pd_tensor *bias);
/* bias_forward with ReLU after it in the same pass, where a convolution cannot take it. */
pd_status cuda_op_bias_relu(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                            const pd_tensor *bias, bool relu);
pd_status cuda_op_bias_backward(pd_device *device, pd_stream *stream, const pd_tensor *db, const pd_tensor *dy,
                                bool accumulate);
pd_status cuda_op_bias_relu_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *db,
                                     const pd_tensor *dy, const pd_tensor *y);
pd_status cuda_op_mean_hw_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x);
pd_status cuda_op_mean_hw_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy);
pd_status cuda_op_mean_hw_relu_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *db,
                                        const pd_tensor *dy, const pd_tensor *y);
pd_status cuda_op_matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                         const pd_tensor *b, const pd_tensor *bias, bool transpose_a, bool transpose_b, bool accumulate,
                         bool allow_tf32);
pd_status cuda_op_batched_matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                                 const pd_tensor *b, bool transpose_a, bool transpose_b, bool allow_tf32);
pd_status cuda_op_softmax_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                                  double scale);
pd_status cuda_op_softmax_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy,
                                   const pd_tensor *y, double scale);
pd_status cuda_op_swap_middle(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x);
pd_status cuda_op_layer_norm_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *mean,
                                     const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                     const pd_tensor *beta, double eps);
pd_status cuda_op_layer_norm_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx,
                                      const pd_tensor *dgamma, const pd_tensor *dbeta, const pd_tensor *dy,
                                      const pd_tensor *x, const pd_tensor *mean, const pd_tensor *rstd,
                                      const pd_tensor *gamma, bool accumulate);
pd_status cuda_op_tiny_round_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *mean,
                                     const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                     const pd_tensor *beta, double eps);
pd_status cuda_op_tiny_round_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx,
                                      const pd_tensor *dgamma, const pd_tensor *dbeta, const pd_tensor *dy,
                                      const pd_tensor *x, const pd_tensor *mean, const pd_tensor *rstd,
                                      const pd_tensor *gamma, bool accumulate);
pd_status cuda_op_cross_entropy_forward(pd_device *device, pd_stream *stream, const pd_tensor *loss,
                                        const pd_tensor *probs, const pd_tensor *logits, const pd_tensor *labels);
pd_status cuda_op_cross_entropy_backward(pd_device *device, pd_stream *stream, const pd_tensor *dlogits,
                                         const pd_tensor *probs, const pd_tensor *labels, const pd_tensor *scale);
pd_status cuda_op_adamw(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                        const pd_adamw *adamw);
pd_status cuda_op_unscale(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                          const pd_scaler *scaler);
pd_status cuda_op_scaler_update(pd_device *device, pd_stream *stream, const pd_scaler *scaler);

#endif
