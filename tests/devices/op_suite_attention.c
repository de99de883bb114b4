/* Softmax and the swap of dimensions; see op_suite.h. They are optional: a device that has neither passes. */
#include "op_suite.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Rows of less than a warp, of a pack more or less than one, and of more than a thousand. */
static const int64_t softmax_shapes[][2] = {{1, 1}, {3, 7}, {70, 32}, {9, 33}, {5, 64}, {2000, 24}, {3, 1025}};

static void reference_softmax(double *y, const double *x, double scale, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0;
    for (int64_t i = 0; i < columns; i++) sum += exp(scale * x[r * columns + i]);
    for (int64_t i = 0; i < columns; i++) y[r * columns + i] = exp(scale * x[r * columns + i]) / sum;
  }
}

static void softmax_of(device_rig *rig, rig_format f, int64_t rows, int64_t columns, double scale, bool in_place) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  operand x = INPUT(rig, f, rows, columns), y = OUTPUT(rig, f, rows, columns);
  operand dy = INPUT(rig, f, rows, columns), dx = OUTPUT(rig, f, rows, columns);
  char what[96];
  snprintf(what, sizeof what, "softmax %lldx%lld by %g, type %u, in place %d", (long long)rows, (long long)columns,
           scale, f.dtype, in_place);
  reference_softmax(y.v, x.v, scale, rows, columns);
  rig_ok(rig, ops->softmax_forward(rig->device, rig->stream, in_place ? &x.t : &y.t, &x.t, scale), what);
  /* The exponent is rounded too: by as much as it is large, 40 at most here. */
  const double bound = rig_bound(f.dtype, columns + 64);
  const operand got = {in_place ? x.t : y.t, y.v};
  operand_expect(rig, &got, bound, what);

  operand_set(rig, &y, y.v); /* as its type holds it, which the gradient is that of */
  double size = 0;
  for (int64_t r = 0; r < rows; r++) {
    double along = 0;
    for (int64_t i = 0; i < columns; i++) along += dy.v[r * columns + i] * y.v[r * columns + i];
    for (int64_t i = 0; i < columns; i++) {
      const int64_t at = r * columns + i;
      dx.v[at] = scale * y.v[at] * (dy.v[at] - along);
      size += scale * scale * y.v[at] * y.v[at];
    }
  }
  rig_ok(rig, ops->softmax_backward(rig->device, rig->stream, in_place ? &dy.t : &dx.t, &dy.t, &y.t, scale), what);
  const operand slope = {in_place ? dy.t : dx.t, dx.v};
  operand_expect_sized(rig, &slope, rig_bound(f.dtype, columns), sqrt(size), what);
  y.t.shape[1]++;
  cr_assert_eq(ops->softmax_forward(rig->device, rig->stream, &y.t, &x.t, scale), PD_INVALID);
  cr_assert_eq(ops->softmax_backward(rig->device, rig->stream, &dx.t, &dy.t, &y.t, scale), PD_INVALID);
  y.t.shape[1]--;
  OPERANDS_FREE(rig, &x, &y, &dy, &dx);
}

void suite_softmax(device_rig *rig, rig_format f) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  if (!PD_HAS(pd_tensor_ops, ops, softmax_backward) || !ops->softmax_forward) return;
  for (size_t s = 0; s < sizeof softmax_shapes / sizeof softmax_shapes[0]; s++)
    for (int variant = 0; variant < 4; variant++)
      softmax_of(rig, f, softmax_shapes[s][0], softmax_shapes[s][1], variant & 1 ? 40 : 0.25, variant & 2);
}

void suite_swap_middle(device_rig *rig, rig_format f) {
  static const int64_t shapes[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 24, 4, 16}, {1, 4, 70, 32}, {40, 9, 4, 8}};
  const pd_tensor_ops *ops = rig->ops->tensor;
  if (!PD_HAS(pd_tensor_ops, ops, swap_middle) || !ops->swap_middle) return;
  const rig_format plain = {f.dtype, PD_NCHW};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    const int64_t a = shapes[s][0], b = shapes[s][1], c = shapes[s][2], d = shapes[s][3];
    operand x = INPUT(rig, plain, a, b, c, d), y = OUTPUT(rig, plain, a, c, b, d);
    for (int64_t i = 0; i < a * b * c * d; i++)
      y.v[((i / (b * c * d) * c + i / d % c) * b + i / (c * d) % b) * d + i % d] = x.v[i];
    rig_ok(rig, ops->swap_middle(rig->device, rig->stream, &y.t, &x.t), "swap_middle");
    operand_expect_exact(rig, &y, "swap_middle");
    if (b != c) cr_assert_eq(ops->swap_middle(rig->device, rig->stream, &x.t, &x.t), PD_INVALID);
    OPERANDS_FREE(rig, &x, &y);
  }
}
