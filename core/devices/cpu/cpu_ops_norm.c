/* LayerNorm, and one fused round of TinyOpsBlock: h = x + 0.01 tanh x; g = h sigmoid h; y = layer_norm(g). */
#include "cpu_ops.h"

#include <math.h>
#include <string.h>

typedef struct norm_arguments {
  float *y, *mean, *rstd;             /* forward: outputs */
  const float *x, *gamma, *beta, *dy; /* backward: mean and rstd are inputs */
  float *dgamma, *dbeta;
  int64_t rows, columns;
  double eps;
  bool tiny, accumulate;
} norm_arguments;

/* These functions exist for wider vectors, too, which run where the processor has them, as oneDNN's do. */
#if defined __x86_64__ && defined __has_attribute
#if __has_attribute(target_clones)
#define ALSO_WIDE __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
#endif
#ifndef ALSO_WIDE
#define ALSO_WIDE
#endif

/*
 * A fused round saves reading and writing what lies between its operations; it gains nothing where tanh and exp are
 * called one element at a time. So they are written out here, without a branch, for the compiler to do several at once.
 * Both are right to 4e-7 of their value.
 */

/* Eigen's quotient of two polynomials; beyond the ends it is 1 in this format. */
static inline float fast_tanh(float x) {
  const float end = 7.905311107635f, low = x > end ? end : x, in = low < -end ? -end : low, square = in * in;
  float above = -2.76076847742355e-16f, below = 1.19825839466702e-06f;
  above = above * square + 2.00018790482477e-13f;
  above = above * square - 8.60467152213735e-11f;
  above = above * square + 5.12229709037114e-08f;
  above = above * square + 1.48572235717979e-05f;
  above = above * square + 6.37261928935436e-04f;
  above = above * square + 4.89352455891786e-03f;
  below = below * square + 1.18534705686654e-04f;
  below = below * square + 2.26843463243900e-03f;
  below = below * square + 4.89352518554385e-03f;
  return in * above / below;
}

/* Cephes' polynomial on what is left of a power of two, which goes into the exponent's bits. */
static inline float fast_exp(float x) {
  const float low = x > 88 ? 88 : x, in = low < -87 ? -87 : low;
  const float to_integer = 12582912, power = (in * 1.442695041f + to_integer) - to_integer;
  const float rest = (in - power * 0.693359375f) + power * 2.12194440e-4f;
  float value = 1.9875691500e-4f, scale;
  value = value * rest + 1.3981999507e-3f;
  value = value * rest + 8.3334519073e-3f;
  value = value * rest + 4.1665795894e-2f;
  value = value * rest + 1.6666665459e-1f;
  value = value * rest + 5.0000001201e-1f;
  value = value * rest * rest + rest + 1;
  const uint32_t bits = ((uint32_t)(int32_t)power + 127) << 23;
  memcpy(&scale, &bits, sizeof scale);
  return value * scale;
}

static inline float tiny(float x) {
  const float h = x + 0.01f * fast_tanh(x);
  return h / (1 + fast_exp(-h));
}

ALSO_WIDE static void fill_tiny(float *restrict out, const float *restrict x, int64_t count) {
  for (int64_t i = 0; i < count; i++) out[i] = tiny(x[i]);
}

/* value = tiny(x) and its slope there. */
ALSO_WIDE static void fill_tiny_and_slope(float *restrict value, float *restrict slope, const float *restrict x,
                                          int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const float t = fast_tanh(x[i]), h = x[i] + 0.01f * t, s = 1 / (1 + fast_exp(-h));
    value[i] = h * s;
    slope[i] = (s + h * s * (1 - s)) * (1 + 0.01f * (1 - t * t));
  }
}

/* ---- forward ---- */

enum { LANES = 4 }; /* sums at a time: one alone would wait for its own last addition */

static double added(const double sums[LANES]) { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }

ALSO_WIDE static double sum_of(const float *x, int64_t count) {
  double sums[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int k = 0; k < LANES; k++) sums[k] += (double)x[i + k];
  for (; i < count; i++) sums[0] += (double)x[i];
  return added(sums);
}

ALSO_WIDE static double squares_of(const float *x, int64_t count, double mean) {
  double sums[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int k = 0; k < LANES; k++) sums[k] += ((double)x[i + k] - mean) * ((double)x[i + k] - mean);
  for (; i < count; i++) sums[0] += ((double)x[i] - mean) * ((double)x[i] - mean);
  return added(sums);
}

ALSO_WIDE static void normalise(float *restrict y, const float *restrict gamma, const float *restrict beta,
                                int64_t count, double mean, double rstd) {
  for (int64_t i = 0; i < count; i++) y[i] = (float)(((double)y[i] - mean) * rstd * (double)gamma[i] + (double)beta[i]);
}

static pd_status run_forward(pd_stream *stream, void *arguments) {
  (void)stream;
  const norm_arguments *p = arguments;
  const double count = (double)p->columns;
  for (int64_t r = 0; r < p->rows; r++) {
    const float *x = p->x + r * p->columns;
    float *y = p->y + r * p->columns;
    if (p->tiny)
      fill_tiny(y, x, p->columns);
    else
      memmove(y, x, (size_t)p->columns * sizeof *y);
    const double mean = sum_of(y, p->columns) / count;
    const double rstd = 1 / sqrt(squares_of(y, p->columns, mean) / count + p->eps);
    normalise(y, p->gamma, p->beta, p->columns, mean, rstd);
    p->mean[r] = (float)mean;
    p->rstd[r] = (float)rstd;
  }
  return PD_OK;
}

/* ---- backward ---- */

enum { PIECE = 256 }; /* how many columns have their values and slopes kept meanwhile */

typedef struct row_sums {
  double first[LANES], second[LANES];
} row_sums;

static inline void add_one(row_sums *to, int lane, float value, float dy, float gamma, double mean, double rstd) {
  const double scaled = (double)dy * (double)gamma;
  to->first[lane] += scaled;
  to->second[lane] += scaled * (((double)value - mean) * rstd);
}

ALSO_WIDE static void add_row(row_sums *out, const float *value, const float *dy, const float *gamma, int64_t count,
                              double mean, double rstd) {
  row_sums sums = *out;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int k = 0; k < LANES; k++) add_one(&sums, k, value[i + k], dy[i + k], gamma[i + k], mean, rstd);
  for (; i < count; i++) add_one(&sums, 0, value[i], dy[i], gamma[i], mean, rstd);
  *out = sums;
}

/* dx and dy may be one. */
ALSO_WIDE static void finish_row(float *dx, float *restrict dgamma, float *restrict dbeta, const float *restrict value,
                                 const float *restrict slope, const float *dy, const float *restrict gamma,
                                 int64_t count, const double terms[4]) {
  const double mean = terms[0], rstd = terms[1], first = terms[2], second = terms[3];
  for (int64_t i = 0; i < count; i++) {
    const double xhat = ((double)value[i] - mean) * rstd, d = (double)dy[i];
    dgamma[i] = (float)((double)dgamma[i] + d * xhat);
    dbeta[i] += (float)d;
    dx[i] = (float)(rstd * (d * (double)gamma[i] - first - xhat * second) * (double)slope[i]);
  }
}

static void run_backward_row(const norm_arguments *p, int64_t r) {
  float values[PIECE], slopes[PIECE];
  const float *x = p->x + r * p->columns, *dy = p->dy + r * p->columns;
  const double mean = (double)p->mean[r], rstd = (double)p->rstd[r];
  const bool kept = p->tiny && p->columns <= PIECE;
  row_sums sums = {0};
  for (int i = 0; i < PIECE && !p->tiny; i++) slopes[i] = 1;
  if (kept) fill_tiny_and_slope(values, slopes, x, p->columns);
  for (int64_t at = 0; at < p->columns; at += PIECE) {
    const int64_t count = p->columns - at < PIECE ? p->columns - at : PIECE;
    if (p->tiny && !kept) fill_tiny(values, x + at, count);
    add_row(&sums, p->tiny ? values : x + at, dy + at, p->gamma + at, count, mean, rstd);
  }
  const double terms[] = {mean, rstd, added(sums.first) / (double)p->columns, added(sums.second) / (double)p->columns};
  for (int64_t at = 0; at < p->columns; at += PIECE) {
    const int64_t count = p->columns - at < PIECE ? p->columns - at : PIECE;
    if (p->tiny && !kept) fill_tiny_and_slope(values, slopes, x + at, count);
    finish_row(p->y + r * p->columns + at, p->dgamma + at, p->dbeta + at, p->tiny ? values : x + at, slopes, dy + at,
               p->gamma + at, count, terms);
  }
}

/* dx = rstd (dy gamma - mean(dy gamma) - xhat mean(dy gamma xhat)); dgamma = sum dy xhat; dbeta = sum dy. `y` is dx. */
static pd_status run_backward(pd_stream *stream, void *arguments) {
  (void)stream;
  const norm_arguments *p = arguments;
  for (int64_t i = 0; i < p->columns && !p->accumulate; i++) p->dgamma[i] = p->dbeta[i] = 0;
  for (int64_t r = 0; r < p->rows; r++) run_backward_row(p, r);
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
  return cpu_stream_kernel(stream, site, run_forward, &p, sizeof p);
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
  return cpu_stream_kernel(stream, site, run_backward, &p, sizeof p);
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
