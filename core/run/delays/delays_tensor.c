/* See delays_tensor.h. One row a function: its name, what it takes, and what it passes on. */
#include "delays_tensor.h"

#include <stddef.h>

static pd_tensor_ops own;           /* the device's: its functions have no state of a caller's */
static delays_before before_kernel; /* the loop thread sets both before any other calls them */

#define LAUNCHES(X)                                                                                                    \
  X(fill, (pd_device * device, pd_stream * stream, const pd_tensor *y, double value), (device, stream, y, value))      \
  X(randn, (pd_device * device, pd_stream * stream, const pd_tensor *y, uint64_t seed, uint64_t offset),               \
    (device, stream, y, seed, offset))                                                                                 \
  X(convert, (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x), (device, stream, y, x)) \
  X(elementwise,                                                                                                       \
    (pd_device * device, pd_stream * stream, pd_elementwise op, const pd_tensor *y, const pd_tensor *a,                \
     const pd_tensor *b, double alpha),                                                                                \
    (device, stream, op, y, a, b, alpha))                                                                              \
  X(mean, (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x), (device, stream, y, x))    \
  X(copy_columns,                                                                                                      \
    (pd_device * device, pd_stream * stream, const pd_tensor *y, int64_t y_column, const pd_tensor *x,                 \
     int64_t x_column, int64_t columns),                                                                               \
    (device, stream, y, y_column, x, x_column, columns))                                                               \
  X(conv2d_forward,                                                                                                    \
    (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x, const pd_tensor *w,               \
     const pd_tensor *bias, bool relu, const pd_conv2d *conv),                                                         \
    (device, stream, y, x, w, bias, relu, conv))                                                                       \
  X(conv2d_backward_data,                                                                                              \
    (pd_device * device, pd_stream * stream, const pd_tensor *dx, const pd_tensor *dy, const pd_tensor *w,             \
     const pd_conv2d *conv),                                                                                           \
    (device, stream, dx, dy, w, conv))                                                                                 \
  X(conv2d_backward_weight,                                                                                            \
    (pd_device * device, pd_stream * stream, const pd_tensor *dw, const pd_tensor *dy, const pd_tensor *x,             \
     const pd_conv2d *conv),                                                                                           \
    (device, stream, dw, dy, x, conv))                                                                                 \
  X(bias_forward,                                                                                                      \
    (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x, const pd_tensor *bias),           \
    (device, stream, y, x, bias))                                                                                      \
  X(bias_backward,                                                                                                     \
    (pd_device * device, pd_stream * stream, const pd_tensor *db, const pd_tensor *dy, bool accumulate),               \
    (device, stream, db, dy, accumulate))                                                                              \
  X(bias_relu_backward,                                                                                                \
    (pd_device * device, pd_stream * stream, const pd_tensor *dx, const pd_tensor *db, const pd_tensor *dy,            \
     const pd_tensor *y),                                                                                              \
    (device, stream, dx, db, dy, y))                                                                                   \
  X(mean_hw_forward, (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x),                 \
    (device, stream, y, x))                                                                                            \
  X(mean_hw_backward, (pd_device * device, pd_stream * stream, const pd_tensor *dx, const pd_tensor *dy),              \
    (device, stream, dx, dy))                                                                                          \
  X(matmul,                                                                                                            \
    (pd_device * device, pd_stream * stream, const pd_tensor *c, const pd_tensor *a, const pd_tensor *b,               \
     const pd_tensor *bias, bool transpose_a, bool transpose_b, bool accumulate, bool allow_tf32),                     \
    (device, stream, c, a, b, bias, transpose_a, transpose_b, accumulate, allow_tf32))                                 \
  X(layer_norm_forward,                                                                                                \
    (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *mean, const pd_tensor *rstd,         \
     const pd_tensor *x, const pd_tensor *gamma, const pd_tensor *beta, double eps),                                   \
    (device, stream, y, mean, rstd, x, gamma, beta, eps))                                                              \
  X(layer_norm_backward,                                                                                               \
    (pd_device * device, pd_stream * stream, const pd_tensor *dx, const pd_tensor *dgamma, const pd_tensor *dbeta,     \
     const pd_tensor *dy, const pd_tensor *x, const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma,    \
     bool accumulate),                                                                                                 \
    (device, stream, dx, dgamma, dbeta, dy, x, mean, rstd, gamma, accumulate))                                         \
  X(cross_entropy_forward,                                                                                             \
    (pd_device * device, pd_stream * stream, const pd_tensor *loss, const pd_tensor *probs, const pd_tensor *logits,   \
     const pd_tensor *labels),                                                                                         \
    (device, stream, loss, probs, logits, labels))                                                                     \
  X(cross_entropy_backward,                                                                                            \
    (pd_device * device, pd_stream * stream, const pd_tensor *dlogits, const pd_tensor *probs,                         \
     const pd_tensor *labels, const pd_tensor *scale),                                                                 \
    (device, stream, dlogits, probs, labels, scale))                                                                   \
  X(tiny_round_forward,                                                                                                \
    (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *mean, const pd_tensor *rstd,         \
     const pd_tensor *x, const pd_tensor *gamma, const pd_tensor *beta, double eps),                                   \
    (device, stream, y, mean, rstd, x, gamma, beta, eps))                                                              \
  X(tiny_round_backward,                                                                                               \
    (pd_device * device, pd_stream * stream, const pd_tensor *dx, const pd_tensor *dgamma, const pd_tensor *dbeta,     \
     const pd_tensor *dy, const pd_tensor *x, const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma,    \
     bool accumulate),                                                                                                 \
    (device, stream, dx, dgamma, dbeta, dy, x, mean, rstd, gamma, accumulate))                                         \
  X(adamw,                                                                                                             \
    (pd_device * device, pd_stream * stream, const pd_parameter *parameters, int64_t count, const pd_adamw *adamw),    \
    (device, stream, parameters, count, adamw))                                                                        \
  X(unscale,                                                                                                           \
    (pd_device * device, pd_stream * stream, const pd_parameter *parameters, int64_t count, const pd_scaler *scaler),  \
    (device, stream, parameters, count, scaler))                                                                       \
  X(scaler_update, (pd_device * device, pd_stream * stream, const pd_scaler *scaler), (device, stream, scaler))        \
  X(conv2d_relu_backward_weight,                                                                                       \
    (pd_device * device, pd_stream * stream, const pd_tensor *dw, const pd_tensor *db, const pd_tensor *dy,            \
     const pd_tensor *y, const pd_tensor *x, const pd_conv2d *conv),                                                   \
    (device, stream, dw, db, dy, y, x, conv))                                                                          \
  X(mean_hw_relu_backward,                                                                                             \
    (pd_device * device, pd_stream * stream, const pd_tensor *dx, const pd_tensor *db, const pd_tensor *dy,            \
     const pd_tensor *y),                                                                                              \
    (device, stream, dx, db, dy, y))                                                                                   \
  X(spin, (pd_device * device, pd_stream * stream, int64_t ns), (device, stream, ns))                                  \
  X(sum_rows, (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x),                        \
    (device, stream, y, x))                                                                                            \
  X(batched_matmul,                                                                                                    \
    (pd_device * device, pd_stream * stream, const pd_tensor *c, const pd_tensor *a, const pd_tensor *b,               \
     bool transpose_a, bool transpose_b, bool allow_tf32),                                                             \
    (device, stream, c, a, b, transpose_a, transpose_b, allow_tf32))                                                   \
  X(softmax_forward, (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x, double scale),   \
    (device, stream, y, x, scale))                                                                                     \
  X(softmax_backward,                                                                                                  \
    (pd_device * device, pd_stream * stream, const pd_tensor *dx, const pd_tensor *dy, const pd_tensor *y,             \
     double scale),                                                                                                    \
    (device, stream, dx, dy, y, scale))                                                                                \
  X(swap_middle, (pd_device * device, pd_stream * stream, const pd_tensor *y, const pd_tensor *x),                     \
    (device, stream, y, x))

#define X(name, takes, passes) row_of_##name,
enum { LAUNCHES(X) row_count };
#undef X
_Static_assert((sizeof(pd_tensor_ops) - offsetof(pd_tensor_ops, fill)) / sizeof(void (*)(void)) == row_count,
               "a row for each operation of the device");

#define X(name, takes, passes)                                                                                         \
  static pd_status slow_##name takes {                                                                                 \
    const pd_status status = before_kernel(device, stream);                                                            \
    return status == PD_OK ? own.name passes : status;                                                                 \
  }
LAUNCHES(X)
#undef X

void delays_tensor_wrap(pd_tensor_ops *table, delays_before before) {
  own = *table;
  before_kernel = before;
#define X(name, takes, passes)                                                                                         \
  if (table->name) table->name = slow_##name;
  LAUNCHES(X)
#undef X
}
