/* See reference_models.h. */
#include "reference_models.h"

#include <math.h>
#include <stdlib.h>

enum { CLASSES = 1000, HIDDEN = 256 };

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
