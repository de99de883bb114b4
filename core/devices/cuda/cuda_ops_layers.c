/* Bias, mean over the plane, LayerNorm, TinyOpsBlock's round, cross entropy. */
#include "cuda_ops.h"

/* Whether the channels are the fastest dimension: NHWC, or columns of a matrix. */
static bool channels_last(const pd_tensor *t) { return t->rank == 2 || t->layout == PD_NHWC; }
static int64_t plane_of(const pd_tensor *t) { return t->rank == 4 ? t->shape[2] * t->shape[3] : 1; }

#define BIAS_SHAPE "not rank 2 or 4, or no floating-point type"

pd_status cuda_op_bias_relu(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                            const pd_tensor *bias, bool relu) {
  OP_REQUIRE((x->rank == 2 || x->rank == 4) && tensor_real(x), "bias_forward", BIAS_SHAPE);
  OP_REQUIRE(tensor_same(y, x) && y->dtype == x->dtype, "bias_forward", "y and x differ in type, shape or layout");
  OP_REQUIRE(tensor_f32_of(bias, x->shape[1]), "bias_forward", "bias is not one float32 per channel");
  if (!tensor_count(x)) return PD_OK;
  if (channels_last(x))
    OP_LAUNCH("bias_forward", cuda_bias_columns(&stream->launch, x->dtype, y->data, x->data, bias->data,
                                                x->shape[0] * plane_of(x), x->shape[1], relu));
  OP_LAUNCH("bias_forward", cuda_bias_planes(&stream->launch, x->dtype, y->data, x->data, bias->data, x->shape[0],
                                             x->shape[1], plane_of(x), relu));
}

pd_status cuda_op_bias_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                               const pd_tensor *bias) {
  return cuda_op_bias_relu(device, stream, y, x, bias, false);
}

static pd_status bias_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *db,
                               const pd_tensor *dy, const pd_tensor *y, bool accumulate) {
  OP_REQUIRE((dy->rank == 2 || dy->rank == 4) && tensor_real(dy), "bias_backward", BIAS_SHAPE);
  OP_REQUIRE(tensor_f32_of(db, dy->shape[1]), "bias_backward", "db is not one float32 per channel");
  void *out = dx ? dx->data : NULL;
  const void *mask = y ? y->data : NULL;
  if (channels_last(dy))
    OP_LAUNCH("bias_backward", cuda_bias_columns_backward(&stream->launch, dy->dtype, out, db->data, dy->data, mask,
                                                          dy->shape[0] * plane_of(dy), dy->shape[1], accumulate));
  OP_LAUNCH("bias_backward", cuda_bias_planes_backward(&stream->launch, dy->dtype, out, db->data, dy->data, mask,
                                                       dy->shape[0], dy->shape[1], plane_of(dy), accumulate));
}

pd_status cuda_op_bias_backward(pd_device *device, pd_stream *stream, const pd_tensor *db, const pd_tensor *dy,
                                bool accumulate) {
  return bias_backward(device, stream, NULL, db, dy, NULL, accumulate);
}

pd_status cuda_op_bias_relu_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *db,
                                     const pd_tensor *dy, const pd_tensor *y) {
  OP_REQUIRE(tensor_same(dx, dy) && tensor_same(y, dy) && dx->dtype == dy->dtype && y->dtype == dy->dtype,
             "bias_relu_backward", "dx, dy and y differ in type, shape or layout");
  return bias_backward(device, stream, dx, db, dy, y, false);
}

pd_status cuda_op_mean_hw_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x) {
  OP_REQUIRE(x->rank == 4 && tensor_real(x) && tensor_real(y), "mean_hw_forward", "x is not rank 4 and float");
  OP_REQUIRE(y->rank == 2 && y->shape[0] == x->shape[0] && y->shape[1] == x->shape[1], "mean_hw_forward",
             "y is not (N,C)");
  OP_LAUNCH("mean_hw_forward", cuda_mean_hw(&stream->launch, y->data, y->dtype, x->data, x->dtype, x->shape[0],
                                            x->shape[1], plane_of(x), x->layout == PD_NHWC));
}

pd_status cuda_op_mean_hw_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dy) {
  OP_REQUIRE(dx->rank == 4 && tensor_real(dx) && tensor_real(dy), "mean_hw_backward", "dx is not rank 4 and float");
  OP_REQUIRE(dy->rank == 2 && dy->shape[0] == dx->shape[0] && dy->shape[1] == dx->shape[1], "mean_hw_backward",
             "dy is not (N,C)");
  OP_LAUNCH("mean_hw_backward", cuda_mean_hw_backward(&stream->launch, dx->data, dx->dtype, dy->data, dy->dtype,
                                                      dx->shape[0], dx->shape[1], plane_of(dx), dx->layout == PD_NHWC));
}

pd_status cuda_op_mean_hw_relu_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *db,
                                        const pd_tensor *dy, const pd_tensor *y) {
  OP_REQUIRE(dx->rank == 4 && tensor_real(dx) && tensor_real(dy), "mean_hw_relu_backward",
             "dx is not rank 4 and float");
  OP_REQUIRE(tensor_same(y, dx) && y->dtype == dx->dtype, "mean_hw_relu_backward",
             "dx and y differ in type, shape or layout");
  OP_REQUIRE(dy->rank == 2 && dy->shape[0] == dx->shape[0] && dy->shape[1] == dx->shape[1], "mean_hw_relu_backward",
             "dy is not (N,C)");
  OP_REQUIRE(tensor_f32_of(db, dx->shape[1]), "mean_hw_relu_backward", "db is not one float32 per channel");
  OP_LAUNCH("mean_hw_relu_backward",
            cuda_mean_hw_relu_backward(&stream->launch, dx->dtype, dx->data, db->data, dy->data, dy->dtype, y->data,
                                       dx->shape[0], dx->shape[1], plane_of(dx), dx->layout == PD_NHWC));
}

/* ---- LayerNorm ---- */

static pd_status check_norm(pd_device *device, const char *operation, const pd_tensor *x, const pd_tensor *y,
                            const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma) {
  OP_REQUIRE(x->rank == 2 && tensor_real(x) && tensor_real(y) && tensor_same(x, y), operation,
             "x and y are not matrices of the same shape");
  OP_REQUIRE(tensor_f32_of(mean, x->shape[0]) && tensor_f32_of(rstd, x->shape[0]), operation,
             "mean or rstd is not one float32 per row");
  OP_REQUIRE(tensor_f32_of(gamma, x->shape[1]), operation, "gamma is not one float32 per column");
  return PD_OK;
}

static pd_status norm_forward(pd_device *device, pd_stream *stream, const char *operation, const pd_tensor *y,
                              const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                              const pd_tensor *beta, double eps, bool tiny) {
  const pd_status status = check_norm(device, operation, x, y, mean, rstd, gamma);
  if (status != PD_OK) return status;
  OP_REQUIRE(tensor_f32_of(beta, x->shape[1]), operation, "beta is not one float32 per column");
  const cuda_norm norm = {.rows = x->shape[0],
                          .columns = x->shape[1],
                          .out = y->data,
                          .x = x->data,
                          .mean = mean->data,
                          .rstd = rstd->data,
                          .gamma = gamma->data,
                          .beta = beta->data,
                          .x_dtype = x->dtype,
                          .y_dtype = y->dtype,
                          .eps = (float)eps,
                          .tiny = tiny};
  OP_LAUNCH(operation, cuda_norm_forward(&stream->launch, &norm));
}

static pd_status norm_backward(pd_device *device, pd_stream *stream, const char *operation, const pd_tensor *dx,
                               const pd_tensor *dgamma, const pd_tensor *dbeta, const pd_tensor *dy, const pd_tensor *x,
                               const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma, bool accumulate,
                               bool tiny) {
  const pd_status status = check_norm(device, operation, x, dy, mean, rstd, gamma);
  if (status != PD_OK) return status;
  OP_REQUIRE(tensor_same(dx, x) && dx->dtype == x->dtype, operation, "dx is not like x");
  OP_REQUIRE(tensor_f32_of(dgamma, x->shape[1]) && tensor_f32_of(dbeta, x->shape[1]), operation,
             "dgamma or dbeta is not one float32 per column");
  const cuda_norm norm = {.rows = x->shape[0],
                          .columns = x->shape[1],
                          .out = dx->data,
                          .x = x->data,
                          .dy = dy->data,
                          .mean = mean->data,
                          .rstd = rstd->data,
                          .gamma = gamma->data,
                          .dgamma = dgamma->data,
                          .dbeta = dbeta->data,
                          .x_dtype = x->dtype,
                          .y_dtype = dy->dtype,
                          .tiny = tiny,
                          .accumulate = accumulate};
  OP_LAUNCH(operation, cuda_norm_backward(&stream->launch, &norm));
}

pd_status cuda_op_layer_norm_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *mean,
                                     const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                     const pd_tensor *beta, double eps) {
  return norm_forward(device, stream, "layer_norm_forward", y, mean, rstd, x, gamma, beta, eps, false);
}
pd_status cuda_op_tiny_round_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *mean,
                                     const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                     const pd_tensor *beta, double eps) {
  return norm_forward(device, stream, "tiny_round_forward", y, mean, rstd, x, gamma, beta, eps, true);
}
pd_status cuda_op_layer_norm_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx,
                                      const pd_tensor *dgamma, const pd_tensor *dbeta, const pd_tensor *dy,
                                      const pd_tensor *x, const pd_tensor *mean, const pd_tensor *rstd,
                                      const pd_tensor *gamma, bool accumulate) {
  return norm_backward(device, stream, "layer_norm_backward", dx, dgamma, dbeta, dy, x, mean, rstd, gamma, accumulate,
                       false);
}
pd_status cuda_op_tiny_round_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx,
                                      const pd_tensor *dgamma, const pd_tensor *dbeta, const pd_tensor *dy,
                                      const pd_tensor *x, const pd_tensor *mean, const pd_tensor *rstd,
                                      const pd_tensor *gamma, bool accumulate) {
  return norm_backward(device, stream, "tiny_round_backward", dx, dgamma, dbeta, dy, x, mean, rstd, gamma, accumulate,
                       true);
}

/* ---- loss ---- */

pd_status cuda_op_cross_entropy_forward(pd_device *device, pd_stream *stream, const pd_tensor *loss,
                                        const pd_tensor *probs, const pd_tensor *logits, const pd_tensor *labels) {
  OP_REQUIRE(logits->rank == 2 && tensor_real(logits) && tensor_same(probs, logits) && probs->dtype == PD_F32,
             "cross_entropy_forward", "logits and probs are not matrices of the same shape, probs float32");
  OP_REQUIRE(labels->dtype == PD_I64 && tensor_count(labels) == logits->shape[0] && tensor_f32_of(loss, 1),
             "cross_entropy_forward", "labels are not one int64 per row, or the loss not one float32");
  OP_LAUNCH("cross_entropy_forward",
            cuda_cross_entropy(&stream->launch, loss->data, probs->data, logits->data, logits->dtype, labels->data,
                               logits->shape[0], logits->shape[1]));
}

pd_status cuda_op_cross_entropy_backward(pd_device *device, pd_stream *stream, const pd_tensor *dlogits,
                                         const pd_tensor *probs, const pd_tensor *labels, const pd_tensor *scale) {
  OP_REQUIRE(probs->rank == 2 && probs->dtype == PD_F32 && tensor_same(dlogits, probs) && tensor_real(dlogits),
             "cross_entropy_backward", "dlogits and probs are not matrices of the same shape, probs float32");
  OP_REQUIRE(labels->dtype == PD_I64 && tensor_count(labels) == probs->shape[0] && (!scale || tensor_f32_of(scale, 1)),
             "cross_entropy_backward", "labels are not one int64 per row, or the scale not one float32");
  OP_LAUNCH("cross_entropy_backward",
            cuda_cross_entropy_backward(&stream->launch, dlogits->data, dlogits->dtype, probs->data, labels->data,
                                        scale ? scale->data : NULL, probs->shape[0], probs->shape[1]));
}
