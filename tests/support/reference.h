/* The device operations as naive loops in double precision, in the plain order (N,C,H,W) whatever a device's layout.
 * For tests alone; names and arguments follow pd_tensor_ops. */
#ifndef TESTS_SUPPORT_REFERENCE_H
#define TESTS_SUPPORT_REFERENCE_H

#include <pdhost/device.h>

typedef struct reference_conv {
  int64_t n, i, o, h, w, kernel, stride, padding;
} reference_conv;
int64_t reference_conv_height(const reference_conv *c);
int64_t reference_conv_width(const reference_conv *c);

void reference_conv2d_forward(double *y, const double *x, const double *w, const double *bias, bool relu,
                              const reference_conv *c);
void reference_conv2d_backward_data(double *dx, const double *dy, const double *w, const reference_conv *c);
void reference_conv2d_backward_weight(double *dw, const double *dy, const double *x, const reference_conv *c);

/* (outer, channels, inner): an image is (N, C, H*W), a matrix (R, D, 1). */
void reference_bias_forward(double *y, const double *x, const double *bias, int64_t outer, int64_t channels,
                            int64_t inner);
void reference_bias_backward(double *db, const double *dy, int64_t outer, int64_t channels, int64_t inner);
void reference_mean_hw_forward(double *y, const double *x, int64_t rows, int64_t hw);
void reference_mean_hw_backward(double *dx, const double *dy, int64_t rows, int64_t hw);

void reference_elementwise(pd_elementwise op, double *y, const double *a, const double *b, double alpha, int64_t count,
                           bool broadcast);
void reference_matmul(double *c, const double *a, const double *b, const double *bias, bool transpose_a,
                      bool transpose_b, int64_t m, int64_t n, int64_t k);
void reference_layer_norm_forward(double *y, double *mean, double *rstd, const double *x, const double *gamma,
                                  const double *beta, double eps, int64_t rows, int64_t columns);
void reference_layer_norm_backward(double *dx, double *dgamma, double *dbeta, const double *dy, const double *x,
                                   const double *gamma, double eps, int64_t rows, int64_t columns);
/* y = h sigmoid(h), h = x + 0.01 tanh(x): what a fused round does before its LayerNorm; and its derivative. */
double reference_tiny(double x);
double reference_tiny_slope(double x);
double reference_cross_entropy(double *probs, const double *logits, const int64_t *labels, int64_t rows,
                               int64_t columns);
void reference_adamw(double *value, double *m, double *v, const double *grad, int64_t count, const pd_adamw *h,
                     int64_t step);

#endif
