/* See reference_models.h. */
#include "reference_models.h"

#include <math.h>
#include <stdlib.h>

enum { CLASSES = 1000, HIDDEN = 256, WIDTH = 128, HEADS = 4, LAYERS = 2, PER_HEAD = WIDTH / HEADS };

/* A row of its own; free() it. */
static double *row_of(int64_t count) { return calloc((size_t)count, sizeof(double)); }

/* y (out) = x (in) weight (out,in)' + bias. */
static void linear(double *y, const double *x, const double *weight, const double *bias, int64_t in, int64_t out) {
  for (int64_t o = 0; o < out; o++) {
    y[o] = bias[o];
    for (int64_t i = 0; i < in; i++) y[o] += x[i] * weight[o * in + i];
  }
}

static void relu(double *x, int64_t count) {
  for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0 ? x[i] : 0;
}

static double cross_entropy(const double *logits, int64_t label) {
  double sum = 0;
  for (int64_t i = 0; i < CLASSES; i++) sum += exp(logits[i]);
  return log(sum) - logits[label];
}

double reference_mlp(double *const *parameters, const float *images, const int64_t *labels, int64_t samples,
                     int64_t size) {
  const int64_t in = 3 * size * size;
  double *x = row_of(in), *first = row_of(HIDDEN), *second = row_of(HIDDEN), *logits = row_of(CLASSES), loss = 0;
  for (int64_t n = 0; n < samples; n++) {
    for (int64_t i = 0; i < in; i++) x[i] = (double)images[n * in + i];
    linear(first, x, parameters[0], parameters[1], in, HIDDEN);
    relu(first, HIDDEN);
    linear(second, first, parameters[2], parameters[3], HIDDEN, HIDDEN);
    relu(second, HIDDEN);
    linear(logits, second, parameters[4], parameters[5], HIDDEN, CLASSES);
    loss += cross_entropy(logits, labels[n]) / (double)samples;
  }
  free(x);
  free(first);
  free(second);
  free(logits);
  return loss;
}

/* ---- the transformer: `p` walks through the parameters, a weight and a bias at a time ---- */

static void layer_norm(double *y, const double *x, double *const *p) {
  double mean = 0, square = 0;
  for (int64_t i = 0; i < WIDTH; i++) mean += x[i] / WIDTH;
  for (int64_t i = 0; i < WIDTH; i++) square += (x[i] - mean) * (x[i] - mean) / WIDTH;
  for (int64_t i = 0; i < WIDTH; i++) y[i] = (x[i] - mean) / sqrt(square + 1e-5) * p[0][i] + p[1][i];
}

/* For one row and one head: `out` is the mean of v's rows by the softmax of q's products with k's rows. */
static void attend_row(double *out, const double *q, const double *k, const double *v, int64_t rows) {
  double *weights = row_of(rows), sum = 0;
  for (int64_t t = 0; t < rows; t++) {
    double score = 0;
    for (int64_t i = 0; i < PER_HEAD; i++) score += q[i] * k[t * WIDTH + i];
    sum += weights[t] = exp(score / sqrt(PER_HEAD));
  }
  for (int64_t i = 0; i < PER_HEAD; i++) {
    out[i] = 0;
    for (int64_t t = 0; t < rows; t++) out[i] += weights[t] / sum * v[t * WIDTH + i];
  }
  free(weights);
}

/* x (rows, WIDTH) += attention(layer_norm(x)). */
static void attend(double *x, double *const *p, int64_t rows) {
  double *h = row_of(WIDTH), *mixed = row_of(WIDTH), *qkv[3];
  for (int i = 0; i < 3; i++) qkv[i] = row_of(rows * WIDTH);
  for (int64_t t = 0; t < rows; t++) {
    layer_norm(h, x + t * WIDTH, p);
    for (int i = 0; i < 3; i++) linear(qkv[i] + t * WIDTH, h, p[2 + 2 * i], p[3 + 2 * i], WIDTH, WIDTH);
  }
  for (int64_t t = 0; t < rows; t++) {
    for (int64_t first = 0; first < WIDTH; first += PER_HEAD)
      attend_row(mixed + first, qkv[0] + t * WIDTH + first, qkv[1] + first, qkv[2] + first, rows);
    linear(h, mixed, p[8], p[9], WIDTH, WIDTH);
    for (int64_t i = 0; i < WIDTH; i++) x[t * WIDTH + i] += h[i];
  }
  free(h);
  free(mixed);
  for (int i = 0; i < 3; i++) free(qkv[i]);
}

static void feed_forward(double *x, double *const *p, int64_t rows) {
  double *h = row_of(WIDTH), *hidden = row_of(HIDDEN);
  for (int64_t t = 0; t < rows; t++) {
    layer_norm(h, x + t * WIDTH, p);
    linear(hidden, h, p[2], p[3], WIDTH, HIDDEN);
    relu(hidden, HIDDEN);
    linear(h, hidden, p[4], p[5], HIDDEN, WIDTH);
    for (int64_t i = 0; i < WIDTH; i++) x[t * WIDTH + i] += h[i];
  }
  free(h);
  free(hidden);
}

double reference_transformer(double *const *parameters, const float *images, const int64_t *labels, int64_t samples,
                             int64_t size) {
  const int64_t numbers = 3 * size;
  double *vector = row_of(numbers), *x = row_of(size * WIDTH), *h = row_of(WIDTH), *mean = row_of(WIDTH);
  double *logits = row_of(CLASSES), loss = 0;
  for (int64_t n = 0; n < samples; n++) {
    double *const *p = parameters;
    for (int64_t t = 0; t < size; t++) {
      for (int64_t i = 0; i < numbers; i++) vector[i] = (double)images[(n * size + t) * numbers + i];
      linear(x + t * WIDTH, vector, p[0], p[1], numbers, WIDTH);
    }
    p += 2;
    for (int layer = 0; layer < LAYERS; layer++, p += 16) {
      attend(x, p, size);
      feed_forward(x, p + 10, size);
    }
    for (int64_t i = 0; i < WIDTH; i++) mean[i] = 0;
    for (int64_t t = 0; t < size; t++) {
      layer_norm(h, x + t * WIDTH, p);
      for (int64_t i = 0; i < WIDTH; i++) mean[i] += h[i] / (double)size;
    }
    linear(logits, mean, p[2], p[3], WIDTH, CLASSES);
    loss += cross_entropy(logits, labels[n]) / (double)samples;
  }
  free(vector);
  free(x);
  free(h);
  free(mean);
  free(logits);
  return loss;
}
