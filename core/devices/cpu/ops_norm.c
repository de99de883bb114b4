/* LayerNorm, and one fused round of TinyOpsBlock: h = x + 0.01 tanh x; g = h sigmoid h; y = layer_norm(g). */
#include "ops.h"

#include <math.h>

typedef struct norm_arguments {
  float *y, *mean, *rstd;             /* forward: outputs */
  const float *x, *gamma, *beta, *dy; /* backward: mean and rstd are inputs */
  float *dgamma, *dbeta;
  int64_t rows, columns;
  double eps;
  bool tiny, accumulate;
} norm_arguments;

static inline double tiny(double x) {
  const double h = x + 0.01 * tanh(x);
  return h / (1 + exp(-h));
}

/* d tiny / dx */
static inline double tiny_slope(double x) {
  const double t = tanh(x), h = x + 0.01 * t, s = 1 / (1 + exp(-h));
  return (s + h * s * (1 - s)) * (1 + 0.01 * (1 - t * t));
}

static inline double input(const norm_arguments *p, const float *x, int64_t i) {
  return p->tiny ? tiny((double)x[i]) : (double)x[i];
}

static pd_status run_forward(pd_stream *stream, void *arguments) {
  (void)stream;
  const norm_arguments *p = arguments;
  const double count = (double)p->columns;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *x = p->x + r * p->columns;
    float *y = p->y + r * p->columns;
    double sum = 0, squares = 0;
    /* tanh and exp once an element: y holds what is normalised. */
    for (int64_t i = 0; i < p->columns; i++) y[i] = (float)input(p, x, i);
    for (int64_t i = 0; i < p->columns; i++) sum += (double)y[i];
    const double mean = sum / count;
    for (int64_t i = 0; i < p->columns; i++) squares += ((double)y[i] - mean) * ((double)y[i] - mean);
    const double rstd = 1 / sqrt(squares / count + p->eps);
    for (int64_t i = 0; i < p->columns; i++)
      y[i] = (float)(((double)y[i] - mean) * rstd * (double)p->gamma[i] + (double)p->beta[i]);
    p->mean[r] = (float)mean;
    p->rstd[r] = (float)rstd;
  }
  return PD_OK;
}

/* dx = rstd (dy gamma - mean(dy gamma) - xhat mean(dy gamma xhat)); dgamma = sum dy xhat; dbeta = sum dy. `y` is dx. */
static pd_status run_backward(pd_stream *stream, void *arguments) {
  (void)stream;
  const norm_arguments *p = arguments;
  for (int64_t i = 0; i < p->columns && !p->accumulate; i++) p->dgamma[i] = p->dbeta[i] = 0;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *x = p->x + r * p->columns, *dy = p->dy + r * p->columns;
    float *dx = p->y + r * p->columns;
    const double mean = (double)p->mean[r], rstd = (double)p->rstd[r];
    double first = 0, second = 0;
    for (int64_t i = 0; i < p->columns; i++) {
      const double xhat = (input(p, x, i) - mean) * rstd, scaled = (double)dy[i] * (double)p->gamma[i];
      first += scaled;
      second += scaled * xhat;
    }
    first /= (double)p->columns;
    second /= (double)p->columns;
    for (int64_t i = 0; i < p->columns; i++) {
      const double xhat = (input(p, x, i) - mean) * rstd, scaled = (double)dy[i] * (double)p->gamma[i];
      p->dgamma[i] = (float)((double)p->dgamma[i] + (double)dy[i] * xhat);
      p->dbeta[i] += dy[i];
      dx[i] = (float)(rstd * (scaled - first - xhat * second) * (p->tiny ? tiny_slope((double)x[i]) : 1));
    }
  }
  return PD_OK;
}

static pd_status forward(pd_device *device, pd_stream *stream, pd_site *site, bool fused, const pd_tensor *y,
                         const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                         const pd_tensor *beta, double eps) {
  if (x->rank != 2) return refuse(device, site->text);
  const int64_t rows = x->shape[0], columns = x->shape[1];
  if (!is_matrix(x, rows, columns) || !is_matrix(y, rows, columns) || !is_vector(mean, rows) ||
      !is_vector(rstd, rows) || !is_vector(gamma, columns) || !is_vector(beta, columns))
    return refuse(device, site->text);
  const norm_arguments p = {.y = y->data,
                            .mean = mean->data,
                            .rstd = rstd->data,
                            .x = x->data,
                            .gamma = gamma->data,
                            .beta = beta->data,
                            .rows = rows,
                            .columns = columns,
                            .eps = eps,
                            .tiny = fused};
  return stream_kernel(stream, site, run_forward, &p, sizeof p);
}

static pd_status backward(pd_device *device, pd_stream *stream, pd_site *site, bool fused, const pd_tensor *dx,
                          const pd_tensor *dgamma, const pd_tensor *dbeta, const pd_tensor *dy, const pd_tensor *x,
                          const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma, bool accumulate) {
  if (x->rank != 2) return refuse(device, site->text);
  const int64_t rows = x->shape[0], columns = x->shape[1];
  if (!is_matrix(x, rows, columns) || !is_matrix(dx, rows, columns) || !is_matrix(dy, rows, columns) ||
      !is_vector(mean, rows) || !is_vector(rstd, rows) || !is_vector(gamma, columns) || !is_vector(dgamma, columns) ||
      !is_vector(dbeta, columns))
    return refuse(device, site->text);
  const norm_arguments p = {.y = dx->data,
                            .mean = mean->data,
                            .rstd = rstd->data,
                            .x = x->data,
                            .gamma = gamma->data,
                            .dy = dy->data,
                            .dgamma = dgamma->data,
                            .dbeta = dbeta->data,
                            .rows = rows,
                            .columns = columns,
                            .tiny = fused,
                            .accumulate = accumulate};
  return stream_kernel(stream, site, run_backward, &p, sizeof p);
}

pd_status cpu_layer_norm_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *mean,
                                 const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                 const pd_tensor *beta, double eps) {
  static pd_site site = PD_SITE("layer_norm_forward", 0);
  return forward(device, stream, &site, false, y, mean, rstd, x, gamma, beta, eps);
}

pd_status cpu_tiny_round_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *mean,
                                 const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                 const pd_tensor *beta, double eps) {
  static pd_site site = PD_SITE("tiny_round_forward", 0);
  return forward(device, stream, &site, true, y, mean, rstd, x, gamma, beta, eps);
}

pd_status cpu_layer_norm_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dgamma,
                                  const pd_tensor *dbeta, const pd_tensor *dy, const pd_tensor *x,
                                  const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma,
                                  bool accumulate) {
  static pd_site site = PD_SITE("layer_norm_backward", 0);
  return backward(device, stream, &site, false, dx, dgamma, dbeta, dy, x, mean, rstd, gamma, accumulate);
}

pd_status cpu_tiny_round_backward(pd_device *device, pd_stream *stream, const pd_tensor *dx, const pd_tensor *dgamma,
                                  const pd_tensor *dbeta, const pd_tensor *dy, const pd_tensor *x,
                                  const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma,
                                  bool accumulate) {
  static pd_site site = PD_SITE("tiny_round_backward", 0);
  return backward(device, stream, &site, true, dx, dgamma, dbeta, dy, x, mean, rstd, gamma, accumulate);
}
