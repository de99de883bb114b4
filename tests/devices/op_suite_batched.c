/* Sums of rows and batched matrix products; see op_suite.h. Both are optional: a device that has neither passes. */
#include "op_suite.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>

void suite_sum_rows(device_rig *rig) {
  /* Rows of every length that a device may treat by itself, and more of them than it has lanes. */
  static const int64_t shapes[][2] = {{1, 1},  {3, 3},    {7, 4},     {5, 16},   {33, 20},  {65, 33},
                                      {9, 64}, {40, 128}, {1000, 64}, {3, 1024}, {2, 5001}, {70000, 8}};
  const pd_tensor_ops *ops = rig->ops->tensor;
  if (!PD_HAS(pd_tensor_ops, ops, sum_rows) || !ops->sum_rows) return;
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    const int64_t rows = shapes[s][0], columns = shapes[s][1];
    operand x = INPUT(rig, OPERAND_F32, rows, columns), y = OUTPUT(rig, OPERAND_F32, rows);
    char what[64];
    snprintf(what, sizeof what, "sum_rows %lldx%lld", (long long)rows, (long long)columns);
    for (int64_t r = 0; r < rows; r++)
      for (int64_t i = 0; i < columns; i++) y.v[r] += x.v[r * columns + i];
    rig_ok(rig, ops->sum_rows(rig->device, rig->stream, &y.t, &x.t), what);
    operand_expect_sized(rig, &y, rig_bound(PD_F32, columns), sqrt((double)(rows * columns)), what);
    cr_assert_eq(ops->sum_rows(rig->device, rig->stream, &x.t, &y.t), PD_INVALID, "%s", what);
    OPERANDS_FREE(rig, &x, &y);
  }
}

static void batched_of(device_rig *rig, rig_format f, const int64_t shape[4], bool ta, bool tb) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  const int64_t count = shape[0], m = shape[1], n = shape[2], k = shape[3];
  operand a = ta ? INPUT(rig, f, count, k, m) : INPUT(rig, f, count, m, k);
  operand b = tb ? INPUT(rig, f, count, n, k) : INPUT(rig, f, count, k, n), c = OUTPUT(rig, f, count, m, n);
  char what[96];
  snprintf(what, sizeof what, "batched_matmul %lld: %lldx%lldx%lld type %u transposed %d %d", (long long)count,
           (long long)m, (long long)n, (long long)k, f.dtype, ta, tb);
  for (int64_t i = 0; i < count; i++)
    reference_matmul(c.v + i * m * n, a.v + i * m * k, b.v + i * k * n, NULL, ta, tb, m, n, k);
  for (int tf32 = 0; tf32 < 2; tf32++) {
    operand_poison(rig, &c);
    rig_ok(rig, ops->batched_matmul(rig->device, rig->stream, &c.t, &a.t, &b.t, ta, tb, tf32), what);
    operand_expect_sized(rig, &c, rig_bound(f.dtype, k) + suite_tf32_bound(rig, f, tf32),
                         sqrt((double)(count * m * n * k)), what);
  }
  a.t.rank = 2;
  cr_assert_eq(ops->batched_matmul(rig->device, rig->stream, &c.t, &a.t, &b.t, ta, tb, false), PD_INVALID);
  a.t.rank = 3;
  a.t.shape[ta ? 1 : 2]++;
  cr_assert_eq(ops->batched_matmul(rig->device, rig->stream, &c.t, &a.t, &b.t, ta, tb, false), PD_INVALID);
  a.t.shape[ta ? 1 : 2]--;
  OPERANDS_FREE(rig, &a, &b, &c);
}

void suite_batched_matmul(device_rig *rig, rig_format f) {
  static const int64_t shapes[][4] = {{1, 1, 1, 1},    {5, 3, 7, 2},     {4, 16, 16, 33},
                                      {100, 1, 1, 64}, {8, 48, 48, 32},  {300, 1, 1, 33},
                                      {7, 1, 5, 128},  {66000, 1, 1, 8}, {9, 6, 1, 40}};
  const pd_tensor_ops *ops = rig->ops->tensor;
  if (!PD_HAS(pd_tensor_ops, ops, batched_matmul) || !ops->batched_matmul) return;
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int variant = 0; variant < 4; variant++) batched_of(rig, f, shapes[s], variant & 1, variant & 2);
}
