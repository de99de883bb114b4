/*
 * The kernels, as C functions. Each launches on `at->stream`, returns the launch's error and does not wait.
 *
 * `at->counters` are zero before and after every kernel; `at->partials` is scratch. Both are the stream's own, so that
 * two streams never share them.
 */
#ifndef DEVICES_CUDA_KERNELS_H
#define DEVICES_CUDA_KERNELS_H

#include <pdhost/device.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_COUNTERS = 4096, CUDA_PARTIALS = 2 * 1024 * 1024, CUDA_TABLE = 48 };

typedef struct cuda_launch {
  cudaStream_t stream;
  uint32_t *counters; /* CUDA_COUNTERS */
  float *partials;    /* CUDA_PARTIALS */
  uint32_t sm_count;
  uint32_t reserved;
} cuda_launch;

/* kernels_basic.cu; T is F32, F16 or BF16, the same for all tensors unless said otherwise */
cudaError_t cuda_fill(const cuda_launch *at, void *y, pd_dtype dtype, int64_t count, double value);
cudaError_t cuda_elementwise(const cuda_launch *at, pd_elementwise op, pd_dtype dtype, void *y, const void *a,
                             const void *b, pd_dtype b_dtype, bool b_scalar, int64_t count, float alpha);
cudaError_t cuda_mean(const cuda_launch *at, float *y, pd_dtype dtype, const void *x, int64_t count);
/* y (rows) = the sums of the rows of x (rows, columns). */
cudaError_t cuda_sum_rows(const cuda_launch *at, float *y, const float *x, int64_t rows, int64_t columns);
cudaError_t cuda_copy_columns(const cuda_launch *at, void *y, pd_dtype y_dtype, int64_t y_stride, const void *x,
                              pd_dtype x_dtype, int64_t x_stride, int64_t rows, int64_t columns);

/* kernels_attention.cu: y = softmax(scale x) of each row, dx = scale y (dy - sum(dy y)); y (a,c,b,d) = x (a,b,c,d) */
cudaError_t cuda_softmax(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, int64_t rows, int64_t columns,
                         float scale);
cudaError_t cuda_softmax_backward(const cuda_launch *at, pd_dtype dtype, void *dx, const void *dy, const void *y,
                                  int64_t rows, int64_t columns, float scale);
cudaError_t cuda_swap_middle(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, const int64_t shape[4]);

/* kernels_spin.cu: one thread busy for `ns` */
cudaError_t cuda_spin(const cuda_launch *at, int64_t ns);

/* kernels_random.cu */
cudaError_t cuda_randn(const cuda_launch *at, float *y, int64_t count, uint64_t seed, uint64_t offset);

/* kernels_layout.cu: y and x of `images` x (channels x plane), each NCHW or NHWC, each of such a type */
cudaError_t cuda_convert(const cuda_launch *at, void *y, pd_dtype y_dtype, const void *x, pd_dtype x_dtype,
                         int64_t count);
cudaError_t cuda_transpose(const cuda_launch *at, void *y, pd_dtype y_dtype, const void *x, pd_dtype x_dtype,
                           int64_t images, int64_t channels, int64_t plane, bool to_nhwc);

/* kernels_bias.cu: `columns` layout is (rows, channels), `planes` layout is (images, channels, plane) */
cudaError_t cuda_bias_columns(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, const float *bias,
                              int64_t rows, int64_t channels, bool relu);
cudaError_t cuda_bias_planes(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, const float *bias,
                             int64_t images, int64_t channels, int64_t plane, bool relu);
/* db = [db +] sums of dy, masked by y > 0 and written to dx where y is given. */
cudaError_t cuda_bias_columns_backward(const cuda_launch *at, pd_dtype dtype, void *dx, float *db, const void *dy,
                                       const void *y, int64_t rows, int64_t channels, bool accumulate);
cudaError_t cuda_bias_planes_backward(const cuda_launch *at, pd_dtype dtype, void *dx, float *db, const void *dy,
                                      const void *y, int64_t images, int64_t channels, int64_t plane, bool accumulate);
cudaError_t cuda_mean_hw(const cuda_launch *at, void *y, pd_dtype y_dtype, const void *x, pd_dtype x_dtype,
                         int64_t images, int64_t channels, int64_t plane, bool nhwc);
cudaError_t cuda_mean_hw_backward(const cuda_launch *at, void *dx, pd_dtype dx_dtype, const void *dy, pd_dtype dy_dtype,
                                  int64_t images, int64_t channels, int64_t plane, bool nhwc);

/* dx = y > 0 ? dy / plane : 0, and its sums over all but the channels. */
cudaError_t cuda_mean_hw_relu_backward(const cuda_launch *at, pd_dtype dtype, void *dx, float *db, const void *dy,
                                       pd_dtype dy_dtype, const void *y, int64_t images, int64_t channels,
                                       int64_t plane, bool nhwc);

/* kernels_norm.cu; `tiny` applies one round of TinyOpsBlock to x first */
typedef struct cuda_norm {
  int64_t rows, columns;
  void *out; /* y, or dx */
  const void *x;
  const void *dy;
  float *mean, *rstd;
  const float *gamma, *beta;
  float *dgamma, *dbeta;
  pd_dtype x_dtype; /* of x and dx */
  pd_dtype y_dtype; /* of y and dy */
  float eps;
  uint32_t tiny, accumulate, reserved;
} cuda_norm;
cudaError_t cuda_norm_forward(const cuda_launch *at, const cuda_norm *norm);
cudaError_t cuda_norm_backward(const cuda_launch *at, const cuda_norm *norm);

/* kernels_loss.cu */
cudaError_t cuda_cross_entropy(const cuda_launch *at, float *loss, float *probs, const void *logits,
                               pd_dtype logits_dtype, const int64_t *labels, int64_t rows, int64_t classes);
cudaError_t cuda_cross_entropy_backward(const cuda_launch *at, void *dlogits, pd_dtype dlogits_dtype,
                                        const float *probs, const int64_t *labels, const float *scale, int64_t rows,
                                        int64_t classes);

/* kernels_optimizer.cu: at most CUDA_TABLE parameters a call; `last` ends the step (or the check) */
typedef struct cuda_adamw_call {
  float lr, beta1, beta2, rest1, rest2; /* rest: 1 - beta, rounded once */
  float eps, weight_decay;
  uint32_t last;
  pd_dtype half_dtype;
  uint32_t reserved;
  double log_beta1, log_beta2; /* natural logarithms: 1 - beta^step is -expm1(step log beta) */
  int64_t *step;
  const float *found_inf;
} cuda_adamw_call;
cudaError_t cuda_adamw(const cuda_launch *at, const pd_parameter *parameters, int64_t count,
                       const cuda_adamw_call *call);
cudaError_t cuda_unscale(const cuda_launch *at, const pd_parameter *parameters, int64_t count, const float *scale,
                         float *found_inf, bool last);
cudaError_t cuda_scaler_update(const cuda_launch *at, const pd_scaler *scaler);

/* kernels_matmul.cu, F32 and F16 alone: c (m,n) = op(a) op(b) [+ bias] [+ c]. Pointers of 16-byte alignment; n, and of
 * a and b the length of a row, a multiple of 4 (float16 rows along k: of 8). */
typedef struct cuda_matmul {
  const void *a, *b;
  void *c;
  const float *bias;
  int64_t m, n, k;
  pd_dtype ab_dtype, c_dtype;
  bool transpose_a, transpose_b, accumulate, tf32;
} cuda_matmul;
cudaError_t cuda_matmul_small(const cuda_launch *at, const cuda_matmul *matmul);

/* kernels_conv_small*.cu, F32 and F16 alone: 3x3 convolutions of at most three input channels and a multiple of 64
 * output channels. x and w come with element strides (n, c, h, w) and (o, i, h, w); y and dy are dense. */
typedef struct cuda_conv_small {
  const void *x, *w;
  void *y;          /* forward: result. weight: dy */
  const void *mask; /* weight: y of the forward pass, or NULL */
  const float *bias;
  void *dw;  /* weight: result, of w_dtype and w_stride */
  float *db; /* weight: NULL, or the sums of the masked dy */
  int64_t x_stride[4], w_stride[4];
  int32_t images, channels, height, width;
  int32_t out_channels, out_height, out_width;
  int32_t stride, padding;
  pd_dtype x_dtype, y_dtype, w_dtype;
  uint32_t nhwc, relu, tf32, reserved;
} cuda_conv_small;
cudaError_t cuda_conv_small_forward(const cuda_launch *at, const cuda_conv_small *conv);
cudaError_t cuda_conv_small_weight(const cuda_launch *at, const cuda_conv_small *conv);

#ifdef __cplusplus
}
#endif
#endif
