/* Elementwise operations, matrix products, normalisation and the loss, of the device operation suite. */
#include "op_suite.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void suite_fill_convert(device_rig *rig, rig_format f) {
  static const int64_t images[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 8, 4, 4}};
  const pd_tensor_ops *ops = rig->ops->tensor;
  for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
    operand from = operand_input(rig, f.dtype, f.layout, 4, images[i]);
    for (int k = 0; k < RIG_FORMATS; k++) {
      rig_format to;
      if (!rig_format_at(rig, k, &to)) continue;
      operand out = operand_output(rig, to.dtype, to.layout, 4, images[i]);
      rig_ok(rig, ops->convert(rig->device, rig->stream, &out.t, &from.t), "convert");
      memcpy(out.v, from.v, (size_t)rig_count(&from.t) * sizeof *out.v);
      /* Exact unless the type is narrowed: then one rounding. */
      if (to.dtype != PD_F32 && f.dtype != to.dtype)
        operand_expect(rig, &out, rig_bound(to.dtype, 1), "convert to a half precision");
      else
        operand_expect_exact(rig, &out, "convert");
      operand_free(rig, &out);
    }
    static const double values[] = {0, 1, -2.5};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
      for (int64_t at = 0; at < rig_count(&from.t); at++) from.v[at] = values[k];
      rig_ok(rig, ops->fill(rig->device, rig->stream, &from.t, values[k]), "fill");
      operand_expect_exact(rig, &from, "fill");
    }
    operand_free(rig, &from);
  }
}

static bool two_inputs(pd_elementwise op) {
  return op != PD_EW_SCALE && op != PD_EW_RELU && op != PD_EW_TANH && op != PD_EW_SIGMOID;
}

static void elementwise_of(device_rig *rig, rig_format f, const int64_t *dims, size_t rank, pd_elementwise op,
                           bool broadcast, bool in_place) {
  const double alpha = 0.75;
  operand a = operand_input(rig, f.dtype, f.layout, rank, dims), y = operand_output(rig, f.dtype, f.layout, rank, dims);
  operand b = broadcast ? INPUT(rig, OPERAND_F32, 1) : operand_input(rig, f.dtype, f.layout, rank, dims);
  char what[64];
  snprintf(what, sizeof what, "elementwise %u, type %u, broadcast %d, in place %d", op, f.dtype, broadcast, in_place);
  reference_elementwise(op, y.v, a.v, b.v, alpha, rig_count(&a.t), broadcast);
  rig_ok(rig,
         rig->ops->tensor->elementwise(rig->device, rig->stream, op, in_place ? &a.t : &y.t, &a.t,
                                       two_inputs(op) ? &b.t : NULL, alpha),
         what);
  /* Each is a few float32 operations and one rounding to the type: as a reduction of four. */
  const operand out = {in_place ? a.t : y.t, y.v};
  operand_expect_sized(rig, &out, rig_bound(f.dtype, 4), sqrt((double)rig_count(&a.t)), what);
  OPERANDS_FREE(rig, &a, &b, &y);
}

void suite_elementwise(device_rig *rig, rig_format f) {
  static const int64_t matrices[][2] = {{1, 1}, {3, 5}, {17, 256}}, image[] = {2, 3, 5, 7};
  for (pd_elementwise op = PD_EW_ADD; op <= PD_EW_SIGMOID_BACKWARD; op++)
    for (int in_place = 0; in_place < 2; in_place++) {
      for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
        elementwise_of(rig, f, matrices[i], 2, op, false, in_place);
      elementwise_of(rig, f, image, 4, op, false, in_place);
      if (op == PD_EW_ADD) elementwise_of(rig, f, image, 4, op, true, in_place);
    }
}

void suite_mean(device_rig *rig, rig_format f) {
  static const int64_t counts[] = {1, 5, 1000, 49153};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    operand x = INPUT(rig, f, counts[i]), y = OUTPUT(rig, OPERAND_F32, 1);
    for (int64_t k = 0; k < counts[i]; k++) y.v[0] += x.v[k] / (double)counts[i];
    rig_ok(rig, rig->ops->tensor->mean(rig->device, rig->stream, &y.t, &x.t), "mean");
    /* Partial sums of a tree or a chain are no larger than the walk of all terms. */
    operand_expect_sized(rig, &y, rig_bound(PD_F32, counts[i]), 1 / sqrt((double)counts[i]), "mean");
    OPERANDS_FREE(rig, &x, &y);
  }
}

void suite_copy_columns(device_rig *rig, rig_format f) {
  operand x = INPUT(rig, f, 5, 13), y = INPUT(rig, f, 5, 9);
  for (int row = 0; row < 5; row++)
    for (int column = 0; column < 4; column++) y.v[row * 9 + 3 + column] = x.v[row * 13 + 6 + column];
  rig_ok(rig, rig->ops->tensor->copy_columns(rig->device, rig->stream, &y.t, 3, &x.t, 6, 4), "copy_columns");
  operand_expect_exact(rig, &y, "copy_columns"); /* and every other column as it was */
  cr_assert_eq(rig->ops->tensor->copy_columns(rig->device, rig->stream, &y.t, 6, &x.t, 6, 4), PD_INVALID);
  cr_assert_eq(rig->ops->tensor->copy_columns(rig->device, rig->stream, &y.t, 0, &x.t, 10, 4), PD_INVALID);
  OPERANDS_FREE(rig, &x, &y);
}

typedef struct product {
  int64_t m, n, k;
  bool ta, tb, biased;
} product;

static void matmul_of(device_rig *rig, rig_format f, product p, bool tf32) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  const int64_t m = p.m, n = p.n, k = p.k;
  operand a = p.ta ? INPUT(rig, f, k, m) : INPUT(rig, f, m, k), b = p.tb ? INPUT(rig, f, n, k) : INPUT(rig, f, k, n);
  operand bias = INPUT(rig, OPERAND_F32, n), c = OUTPUT(rig, f, m, n), sum = INPUT(rig, OPERAND_F32, m, n);
  char what[96];
  snprintf(what, sizeof what, "matmul %lldx%lldx%lld type %u transposed %d %d bias %d tf32 %d", (long long)m,
           (long long)n, (long long)k, f.dtype, p.ta, p.tb, p.biased, tf32);
  reference_matmul(c.v, a.v, b.v, p.biased ? bias.v : NULL, p.ta, p.tb, m, n, k);
  rig_ok(rig,
         ops->matmul(rig->device, rig->stream, &c.t, &a.t, &b.t, p.biased ? &bias.t : NULL, p.ta, p.tb, false, tf32),
         what);
  const double size = sqrt((double)(m * n * (k + 1))); /* the random walk of k + 1 terms of at most 1 */
  const double coarse = suite_tf32_bound(rig, f, tf32);
  operand_expect_sized(rig, &c, rig_bound(f.dtype, k + 1) + coarse, size, what);
  /* Accumulated into float32, whatever a and b are. */
  if (!p.biased) {
    for (int64_t at = 0; at < m * n; at++) sum.v[at] += c.v[at];
    rig_ok(rig, ops->matmul(rig->device, rig->stream, &sum.t, &a.t, &b.t, NULL, p.ta, p.tb, true, tf32), what);
    operand_expect_sized(rig, &sum, rig_bound(PD_F32, k + 1) + coarse, size, what);
  }
  OPERANDS_FREE(rig, &a, &b, &bias, &c, &sum);
}

static void each_matmul(device_rig *rig, rig_format f, bool tf32) {
  static const int64_t sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {16, 1000, 256}, {256, 256, 33}, {1, 256, 8}, {5, 1, 64}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int variant = 0; variant < 8; variant++)
      matmul_of(
          rig, f,
          (product){sizes[i][0], sizes[i][1], sizes[i][2], .ta = variant & 1, .tb = variant & 2, .biased = variant & 4},
          tf32);
}

void suite_matmul(device_rig *rig, rig_format f) { each_matmul(rig, f, false); }

/* The head's three products too, of more rows than a device has a kernel for small products for, and a weight's
 * gradient that thousands of rows share. */
void suite_matmul_tf32(device_rig *rig, rig_format f) {
  static const product large[] = {{.m = 136, .n = 1000, .k = 256, .tb = true, .biased = true},
                                  {.m = 136, .n = 256, .k = 1000},
                                  {.m = 1000, .n = 256, .k = 136, .ta = true},
                                  {.m = 64, .n = 128, .k = 4224, .ta = true}};
  each_matmul(rig, f, true);
  if (f.layout != PD_NCHW) return; /* matrices have one layout: once is enough */
  for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) matmul_of(rig, f, large[i], true);
}

static const int64_t rows_columns[][2] = {{1, 2}, {3, 5}, {16, 256}, {7, 33}, {65, 256}};
#define NORMS (sizeof rows_columns / sizeof rows_columns[0])
#define EPS 1e-5

typedef struct norm {
  operand x, y, dy, dx, gamma, beta, mean, rstd, dgamma, dbeta;
  int64_t rows, columns;
} norm;

static norm norm_make(device_rig *rig, rig_format f, int64_t rows, int64_t columns) {
  const rig_format one = OPERAND_F32;
  return (norm){.rows = rows,
                .columns = columns,
                .x = INPUT(rig, f, rows, columns),
                .y = OUTPUT(rig, f, rows, columns),
                .dy = INPUT(rig, f, rows, columns),
                .dx = OUTPUT(rig, f, rows, columns),
                .gamma = INPUT(rig, one, columns),
                .beta = INPUT(rig, one, columns),
                .mean = OUTPUT(rig, one, rows),
                .rstd = OUTPUT(rig, one, rows),
                .dgamma = OUTPUT(rig, one, columns),
                .dbeta = OUTPUT(rig, one, columns)};
}
static void norm_free(device_rig *rig, norm *n) {
  OPERANDS_FREE(rig, &n->x, &n->y, &n->dy, &n->dx, &n->gamma, &n->beta, &n->mean, &n->rstd, &n->dgamma, &n->dbeta);
}

static void norm_backward(device_rig *rig, norm *n, bool tiny, bool accumulate) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  rig_ok(rig,
         (tiny ? ops->tiny_round_backward : ops->layer_norm_backward)(rig->device, rig->stream, &n->dx.t, &n->dgamma.t,
                                                                      &n->dbeta.t, &n->dy.t, &n->x.t, &n->mean.t,
                                                                      &n->rstd.t, &n->gamma.t, accumulate),
         "layer norm, backward");
}

/*
 * The normalised numbers are (g - mean) rstd, with |g| up to `largest`: their rounding is epsilon largest rstd, and the
 * relative rounding of rstd itself epsilon (largest rstd)^2. What is summed from them has the terms' rounding.
 */
static void norm_check(device_rig *rig, rig_format f, int64_t rows, int64_t columns, bool tiny) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  char what[6][64];
  static const char *const parts[] = {"y", "mean", "rstd", "dx", "dgamma", "dbeta"};
  for (int i = 0; i < 6; i++)
    snprintf(what[i], sizeof what[i], "%s %s, %lldx%lld, type %u", tiny ? "tiny_round" : "layer_norm", parts[i],
             (long long)rows, (long long)columns, f.dtype);
  norm n = norm_make(rig, f, rows, columns);
  const int64_t count = rows * columns;
  double *g = malloc((size_t)count * sizeof *g), largest = 0, steepest = 1;
  cr_assert(g);
  for (int64_t i = 0; i < count; i++) {
    g[i] = tiny ? reference_tiny(n.x.v[i]) : n.x.v[i];
    largest = fmax(largest, fabs(g[i]));
  }
  rig_ok(rig,
         (tiny ? ops->tiny_round_forward : ops->layer_norm_forward)(rig->device, rig->stream, &n.y.t, &n.mean.t,
                                                                    &n.rstd.t, &n.x.t, &n.gamma.t, &n.beta.t, EPS),
         what[0]);
  reference_layer_norm_forward(n.y.v, n.mean.v, n.rstd.v, g, n.gamma.v, n.beta.v, EPS, rows, columns);
  for (int64_t r = 0; r < rows; r++) steepest = fmax(steepest, n.rstd.v[r] * largest);
  const double rounding = rig_bound(PD_F32, columns) * steepest * steepest, bound = rounding + rig_bound(f.dtype, 1);
  operand_expect(rig, &n.y, bound, what[0]);
  operand_expect_sized(rig, &n.mean, rig_bound(PD_F32, columns), largest * sqrt((double)rows), what[1]);
  operand_expect(rig, &n.rstd, rounding, what[2]);
  reference_layer_norm_backward(n.dx.v, n.dgamma.v, n.dbeta.v, n.dy.v, g, n.gamma.v, EPS, rows, columns);
  for (int64_t i = 0; tiny && i < count; i++) n.dx.v[i] *= reference_tiny_slope(n.x.v[i]);
  /* dx is the difference of three terms no larger than rstd dy gamma; dgamma and dbeta are sums over the rows. */
  const double terms = operand_norm(n.dy.v, count), dx_size = 3 * steepest / largest * terms;
  const double sums = rounding + rig_bound(PD_F32, rows);
  for (int accumulate = 0; accumulate < 2; accumulate++) {
    for (int64_t i = 0; accumulate && i < columns; i++) n.dgamma.v[i] *= 2, n.dbeta.v[i] *= 2;
    operand_poison(rig, &n.dx);
    norm_backward(rig, &n, tiny, accumulate);
    operand_expect_sized(rig, &n.dx, bound, dx_size, what[3]);
    operand_expect_sized(rig, &n.dgamma, sums, terms * steepest, what[4]);
    operand_expect_sized(rig, &n.dbeta, sums, terms, what[5]);
  }
  free(g);
  norm_free(rig, &n);
}

void suite_layer_norm(device_rig *rig, rig_format f) {
  for (size_t i = 0; i < NORMS; i++) norm_check(rig, f, rows_columns[i][0], rows_columns[i][1], false);
}

void suite_tiny_round(device_rig *rig, rig_format f) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  cr_assert_eq(ops->tiny_round_forward == NULL, ops->tiny_round_backward == NULL, "both or neither");
  for (size_t i = 0; ops->tiny_round_forward && i < NORMS; i++)
    norm_check(rig, f, rows_columns[i][0], rows_columns[i][1], true);
}

/* sum(dy * y) of the device's forward pass at the numbers in n->x. */
static double norm_weighted(device_rig *rig, const norm *n, double *y) {
  double sum = 0;
  rig_ok(rig,
         rig->ops->tensor->layer_norm_forward(rig->device, rig->stream, &n->y.t, &n->mean.t, &n->rstd.t, &n->x.t,
                                              &n->gamma.t, &n->beta.t, EPS),
         "layer_norm_forward");
  rig_download(rig, &n->y.t, y);
  for (int64_t i = 0; i < n->rows * n->columns; i++) sum += n->dy.v[i] * y[i];
  return sum;
}

/*
 * Central differences with step h: truncation h^2 f'''/6, where f''' is at most about 20 rstd^3 for numbers in (-1, 1),
 * and rounding epsilon sqrt(columns) rstd / h on either side. h = epsilon^(1/3) makes both epsilon^(2/3).
 */
void suite_layer_norm_differences(device_rig *rig, rig_format f) {
  norm n = norm_make(rig, f, 3, 17);
  double y[3 * 17], dx[3 * 17], rstd[3];
  norm_weighted(rig, &n, y);
  norm_backward(rig, &n, false, false);
  rig_download(rig, &n.dx.t, dx);
  rig_download(rig, &n.rstd.t, rstd);
  const double epsilon = rig_epsilon(f.dtype), h = cbrt(epsilon);
  for (int64_t at = 0; at < 3 * 17; at++) {
    const double old = n.x.v[at], r = fmax(1, rstd[at / 17]);
    n.x.v[at] = old + h;
    rig_upload(rig, &n.x.t, n.x.v);
    const double upper_at = n.x.v[at], upper = norm_weighted(rig, &n, y);
    n.x.v[at] = old - h;
    rig_upload(rig, &n.x.t, n.x.v);
    const double slope = (upper - norm_weighted(rig, &n, y)) / (upper_at - n.x.v[at]);
    const double bound = h * h * 20 / 6 * r * r * r + 8 * epsilon * sqrt(17) * r / h;
    cr_assert(fabs(slope - dx[at]) <= bound, "dx[%lld]: difference %.9g, gradient %.9g, bound %g", (long long)at, slope,
              dx[at], bound);
    n.x.v[at] = old;
    rig_upload(rig, &n.x.t, n.x.v);
  }
  norm_free(rig, &n);
}

void suite_cross_entropy(device_rig *rig, rig_format f) {
  static const int64_t sizes[][2] = {{1, 2}, {3, 7}, {16, 1000}, {5, 1}};
  const pd_tensor_ops *ops = rig->ops->tensor;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const int64_t rows = sizes[i][0], columns = sizes[i][1];
    int64_t wanted[16];
    operand logits = INPUT(rig, f, rows, columns), labels = operand_labels(rig, rows, columns, wanted);
    operand probs = OUTPUT(rig, OPERAND_F32, rows, columns), loss = OUTPUT(rig, OPERAND_F32, 1);
    operand dlogits = OUTPUT(rig, f, rows, columns), scale = operand_number(rig, 64);
    /* Large logits show whether the largest is taken out before the exponential. */
    for (int64_t k = 0; k < rows * columns; k++) logits.v[k] *= 100;
    operand_set(rig, &logits, logits.v);
    rig_ok(rig, ops->cross_entropy_forward(rig->device, rig->stream, &loss.t, &probs.t, &logits.t, &labels.t), "loss");
    loss.v[0] = reference_cross_entropy(probs.v, logits.v, wanted, rows, columns);
    /* exp(x) of x up to 200 in float32: the rounding of x is magnified by |x|. */
    const double bound = rig_bound(PD_F32, columns) * 200;
    operand_expect(rig, &probs, bound, "cross_entropy_forward probs");
    /* A sure row's loss is next to nothing, and what is left of a difference of numbers of the logits' size. */
    double got;
    rig_download(rig, &loss.t, &got);
    cr_assert(fabs(got - loss.v[0]) <= bound * fmax(1, loss.v[0]), "loss %.9g, expected %.9g", got, loss.v[0]);
    for (int scaled = 0; scaled < 2; scaled++) {
      for (int64_t k = 0; k < rows * columns; k++)
        dlogits.v[k] = (probs.v[k] - (k % columns == wanted[k / columns])) / (double)rows * (scaled ? 64 : 1);
      operand_poison(rig, &dlogits);
      rig_ok(rig,
             ops->cross_entropy_backward(rig->device, rig->stream, &dlogits.t, &probs.t, &labels.t,
                                         scaled ? &scale.t : NULL),
             "cross_entropy_backward");
      operand_expect_sized(rig, &dlogits, bound + rig_bound(f.dtype, 1), (scaled ? 64 : 1) / sqrt((double)rows),
                           "cross_entropy_backward");
    }
    OPERANDS_FREE(rig, &logits, &labels, &probs, &loss, &dlogits, &scale);
  }
}
