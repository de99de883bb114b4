/* Operands of the device operation suite; see op_suite.h. */
#include "op_suite.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

operand operand_output(device_rig *rig, pd_dtype dtype, pd_layout layout, size_t rank, const int64_t *dims) {
  operand o = {.t = rig_tensor(rig, dtype, layout, (uint32_t)rank, dims)};
  o.v = calloc((size_t)rig_count(&o.t) + 1, sizeof *o.v);
  cr_assert(o.v);
  return o;
}

operand operand_input(device_rig *rig, pd_dtype dtype, pd_layout layout, size_t rank, const int64_t *dims) {
  operand o = {.t = rig_tensor(rig, dtype, layout, (uint32_t)rank, dims)};
  o.v = rig_random(rig, rig_count(&o.t));
  cr_assert(o.v);
  rig_upload(rig, &o.t, o.v);
  return o;
}

operand operand_labels(device_rig *rig, int64_t rows, int64_t columns, int64_t *labels) {
  operand o = operand_output(rig, PD_I64, PD_NCHW, 1, &rows);
  double *random = rig_random(rig, rows);
  for (int64_t i = 0; i < rows; i++) {
    labels[i] = (int64_t)((random[i] + 1) / 2 * (double)columns) % columns;
    o.v[i] = (double)labels[i];
  }
  free(random);
  rig_upload(rig, &o.t, o.v);
  return o;
}

operand operand_number(device_rig *rig, double value) {
  operand o = OUTPUT(rig, OPERAND_F32, 1);
  operand_set(rig, &o, &value);
  return o;
}

void operand_set(device_rig *rig, operand *o, const double *values) {
  if (values != o->v) memcpy(o->v, values, (size_t)rig_count(&o->t) * sizeof *values);
  rig_upload(rig, &o->t, o->v);
}

void operand_poison(device_rig *rig, operand *o) {
  double *poison = malloc((size_t)rig_count(&o->t) * sizeof *poison);
  cr_assert(poison);
  for (int64_t i = 0; i < rig_count(&o->t); i++) poison[i] = (double)NAN;
  rig_upload(rig, &o->t, poison);
  free(poison);
}

void operand_expect(device_rig *rig, const operand *o, double bound, const char *what) {
  rig_expect(rig, &o->t, o->v, bound, what);
}

double operand_norm(const double *values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += values[i] * values[i];
  return sqrt(sum);
}

void operand_expect_sized(device_rig *rig, const operand *o, double bound, double size, const char *what) {
  const double own = operand_norm(o->v, rig_count(&o->t));
  operand_expect(rig, o, own > 0 ? bound * fmax(1, size / own) : bound, what);
}

void operand_expect_exact(device_rig *rig, const operand *o, const char *what) {
  const int64_t count = rig_count(&o->t);
  double *got = malloc((size_t)count * sizeof *got);
  cr_assert(got);
  rig_download(rig, &o->t, got);
  for (int64_t i = 0; i < count; i++)
    cr_assert(got[i] == o->v[i], "%s: element %lld is %.9g, expected %.9g", what, (long long)i, got[i], o->v[i]);
  free(got);
}

void operand_free(device_rig *rig, operand *o) {
  rig_free(rig, &o->t);
  free(o->v);
}

/*
 * TF32 keeps 10 bits behind a number's leading one (PTX ISA, "Alternate floating-point data formats"): below 1 at most
 * 2^-11 is lost where the low bits are left out, as a library may, and half of that by rounding. So a product is off by
 * at most 2 * 2^-11; the errors of K products walk as the products do, and the sums themselves are float32's.
 */
double suite_tf32_bound(const device_rig *rig, rig_format f, bool tf32) {
  return tf32 && f.dtype == PD_F32 && rig_is_cuda(rig) ? 2 * 0x1p-11 : 0;
}

void suite_each_format(device_rig *rig, void (*check)(device_rig *rig, rig_format format)) {
  int formats = 0;
  for (int i = 0; i < RIG_FORMATS; i++) {
    rig_format format;
    if (!rig_format_at(rig, i, &format)) {
      cr_assert_neq(format.dtype, (pd_dtype)PD_F32, "the device does not support float32");
      continue;
    }
    check(rig, format);
    formats++;
  }
  cr_assert_geq(formats, 2);
}
