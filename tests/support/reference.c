/* Naive operations; see reference.h. */
#include "reference.h"

#include <math.h>
#include <string.h>

int64_t reference_conv_height(const reference_conv *c) { return (c->h + 2 * c->padding - c->kernel) / c->stride + 1; }
int64_t reference_conv_width(const reference_conv *c) { return (c->w + 2 * c->padding - c->kernel) / c->stride + 1; }

/* Visits every product of the convolution: y[yi] += x[xi] * w[wi]. */
typedef void (*visit)(void *context, int64_t yi, int64_t xi, int64_t wi);
static void walk(const reference_conv *c, visit each, void *context) {
  const int64_t oh = reference_conv_height(c), ow = reference_conv_width(c);
  for (int64_t n = 0; n < c->n; n++)
    for (int64_t o = 0; o < c->o; o++)
      for (int64_t p = 0; p < oh; p++)
        for (int64_t q = 0; q < ow; q++)
          for (int64_t i = 0; i < c->i; i++)
            for (int64_t r = 0; r < c->kernel; r++)
              for (int64_t s = 0; s < c->kernel; s++) {
                const int64_t h = p * c->stride + r - c->padding, w = q * c->stride + s - c->padding;
                if (h < 0 || h >= c->h || w < 0 || w >= c->w) continue;
                each(context, ((n * c->o + o) * oh + p) * ow + q, ((n * c->i + i) * c->h + h) * c->w + w,
                     ((o * c->i + i) * c->kernel + r) * c->kernel + s);
              }
}

typedef struct products {
  double *out;
  const double *a, *b;
} products;
static void add_forward(void *context, int64_t yi, int64_t xi, int64_t wi) {
  const products *p = context;
  p->out[yi] += p->a[xi] * p->b[wi];
}
static void add_data(void *context, int64_t yi, int64_t xi, int64_t wi) {
  const products *p = context;
  p->out[xi] += p->a[yi] * p->b[wi];
}
static void add_weight(void *context, int64_t yi, int64_t xi, int64_t wi) {
  const products *p = context;
  p->out[wi] += p->a[yi] * p->b[xi];
}

void reference_conv2d_forward(double *y, const double *x, const double *w, const double *bias, bool relu,
                              const reference_conv *c) {
  const int64_t hw = reference_conv_height(c) * reference_conv_width(c);
  memset(y, 0, (size_t)(c->n * c->o * hw) * sizeof *y);
  products p = {y, x, w};
  walk(c, add_forward, &p);
  for (int64_t at = 0; at < c->n * c->o * hw; at++) {
    if (bias) y[at] += bias[at / hw % c->o];
    if (relu && y[at] < 0) y[at] = 0;
  }
}

void reference_conv2d_backward_data(double *dx, const double *dy, const double *w, const reference_conv *c) {
  memset(dx, 0, (size_t)(c->n * c->i * c->h * c->w) * sizeof *dx);
  products p = {dx, dy, w};
  walk(c, add_data, &p);
}

void reference_conv2d_backward_weight(double *dw, const double *dy, const double *x, const reference_conv *c) {
  memset(dw, 0, (size_t)(c->o * c->i * c->kernel * c->kernel) * sizeof *dw);
  products p = {dw, dy, x};
  walk(c, add_weight, &p);
}

void reference_bias_forward(double *y, const double *x, const double *bias, int64_t outer, int64_t channels,
                            int64_t inner) {
  for (int64_t at = 0; at < outer * channels * inner; at++) y[at] = x[at] + bias[at / inner % channels];
}

void reference_bias_backward(double *db, const double *dy, int64_t outer, int64_t channels, int64_t inner) {
  for (int64_t c = 0; c < channels; c++) db[c] = 0;
  for (int64_t at = 0; at < outer * channels * inner; at++) db[at / inner % channels] += dy[at];
}

void reference_mean_hw_forward(double *y, const double *x, int64_t rows, int64_t hw) {
  for (int64_t r = 0; r < rows; r++) {
    y[r] = 0;
    for (int64_t i = 0; i < hw; i++) y[r] += x[r * hw + i] / (double)hw;
  }
}

void reference_mean_hw_backward(double *dx, const double *dy, int64_t rows, int64_t hw) {
  for (int64_t at = 0; at < rows * hw; at++) dx[at] = dy[at / hw] / (double)hw;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

void reference_elementwise(pd_elementwise op, double *y, const double *a, const double *b, double alpha, int64_t count,
                           bool broadcast) {
  for (int64_t i = 0; i < count; i++) {
    const double other = b ? b[broadcast ? 0 : i] : 0;
    switch (op) {
    case PD_EW_ADD: y[i] = a[i] + alpha * other; break;
    case PD_EW_MUL: y[i] = a[i] * other; break;
    case PD_EW_SCALE: y[i] = alpha * a[i]; break;
    case PD_EW_RELU: y[i] = a[i] > 0 ? a[i] : 0; break;
    case PD_EW_TANH: y[i] = tanh(a[i]); break;
    case PD_EW_SIGMOID: y[i] = sigmoid(a[i]); break;
    case PD_EW_RELU_BACKWARD: y[i] = other > 0 ? a[i] : 0; break;
    case PD_EW_TANH_BACKWARD: y[i] = a[i] * (1 - other * other); break;
    case PD_EW_SIGMOID_BACKWARD: y[i] = a[i] * other * (1 - other); break;
    default: y[i] = NAN;
    }
  }
}

void reference_matmul(double *c, const double *a, const double *b, const double *bias, bool transpose_a,
                      bool transpose_b, int64_t m, int64_t n, int64_t k) {
  for (int64_t row = 0; row < m; row++)
    for (int64_t column = 0; column < n; column++) {
      double sum = bias ? bias[column] : 0;
      for (int64_t i = 0; i < k; i++)
        sum += a[transpose_a ? i * m + row : row * k + i] * b[transpose_b ? column * k + i : i * n + column];
      c[row * n + column] = sum;
    }
}

void reference_layer_norm_forward(double *y, double *mean, double *rstd, const double *x, const double *gamma,
                                  const double *beta, double eps, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < columns; i++) sum += x[r * columns + i];
    mean[r] = sum / (double)columns;
    for (int64_t i = 0; i < columns; i++) squares += pow(x[r * columns + i] - mean[r], 2);
    rstd[r] = 1 / sqrt(squares / (double)columns + eps);
    for (int64_t i = 0; i < columns; i++)
      y[r * columns + i] = (x[r * columns + i] - mean[r]) * rstd[r] * gamma[i] + beta[i];
  }
}

/* By the chain rule over mean and variance, term by term, not by the closed form that devices use. */
void reference_layer_norm_backward(double *dx, double *dgamma, double *dbeta, const double *dy, const double *x,
                                   const double *gamma, double eps, int64_t rows, int64_t columns) {
  const double d = (double)columns;
  for (int64_t i = 0; i < columns; i++) dgamma[i] = dbeta[i] = 0;
  for (int64_t r = 0; r < rows; r++) {
    const double *xr = x + r * columns, *dyr = dy + r * columns;
    double mean = 0, variance = 0, dvariance = 0, dmean = 0;
    for (int64_t i = 0; i < columns; i++) mean += xr[i] / d;
    for (int64_t i = 0; i < columns; i++) variance += pow(xr[i] - mean, 2) / d;
    const double rstd = 1 / sqrt(variance + eps);
    for (int64_t i = 0; i < columns; i++) {
      const double dxhat = dyr[i] * gamma[i];
      dgamma[i] += dyr[i] * (xr[i] - mean) * rstd;
      dbeta[i] += dyr[i];
      dvariance += dxhat * (xr[i] - mean) * -0.5 * pow(rstd, 3);
      dmean -= dxhat * rstd;
    }
    for (int64_t i = 0; i < columns; i++)
      dx[r * columns + i] = dyr[i] * gamma[i] * rstd + dvariance * 2 * (xr[i] - mean) / d + dmean / d;
  }
}

double reference_tiny(double x) {
  const double h = x + 0.01 * tanh(x);
  return h * sigmoid(h);
}

double reference_tiny_slope(double x) {
  const double step = 1e-5;
  return (reference_tiny(x + step) - reference_tiny(x - step)) / (2 * step);
}

double reference_cross_entropy(double *probs, const double *logits, const int64_t *labels, int64_t rows,
                               int64_t columns) {
  double loss = 0;
  for (int64_t r = 0; r < rows; r++) {
    const double *row = logits + r * columns;
    double largest = row[0], sum = 0;
    for (int64_t i = 0; i < columns; i++) largest = fmax(largest, row[i]);
    for (int64_t i = 0; i < columns; i++) sum += exp(row[i] - largest);
    for (int64_t i = 0; i < columns; i++) probs[r * columns + i] = exp(row[i] - largest) / sum;
    loss -= (row[labels[r]] - largest - log(sum)) / (double)rows;
  }
  return loss;
}

void reference_adamw(double *value, double *m, double *v, const double *grad, int64_t count, const pd_adamw *h,
                     int64_t step) {
  for (int64_t i = 0; i < count; i++) {
    value[i] -= h->lr * h->weight_decay * value[i];
    m[i] = h->beta1 * m[i] + (1 - h->beta1) * grad[i];
    v[i] = h->beta2 * v[i] + (1 - h->beta2) * grad[i] * grad[i];
    const double mhat = m[i] / (1 - pow(h->beta1, (double)step)), vhat = v[i] / (1 - pow(h->beta2, (double)step));
    value[i] -= h->lr * mhat / (sqrt(vhat) + h->eps);
  }
}
