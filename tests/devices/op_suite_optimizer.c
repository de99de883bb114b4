/* Random numbers, AdamW and the loss scaler, of the device operation suite. */
#include "op_suite.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 100001 };

/* Every element depends on (seed, offset + i) alone; mean, variance and fourth moment are N(0,1)'s. */
void suite_randn(device_rig *rig) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  const uint64_t seed = rig->seed;
  operand all = OUTPUT(rig, OPERAND_F32, DRAWS), part = OUTPUT(rig, OPERAND_F32, 333);
  rig_ok(rig, ops->randn(rig->device, rig->stream, &all.t, seed, 10), "randn");
  rig_download(rig, &all.t, all.v);
  double moments[5] = {0};
  for (int i = 0; i < DRAWS; i++)
    for (int power = 1; power <= 4; power++) moments[power] += pow(all.v[i], power) / DRAWS;
  /* Six standard deviations: sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n). */
  static const double expected[] = {0, 0, 1, 0, 3}, variances[] = {0, 1, 2, 15, 96};
  for (int power = 1; power <= 4; power++)
    cr_assert(fabs(moments[power] - expected[power]) <= 6 * sqrt(variances[power] / DRAWS), "moment %d is %g", power,
              moments[power]);
  static const int64_t starts[] = {0, 1, 4097, DRAWS - 333};
  for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++) {
    operand_poison(rig, &part);
    rig_ok(rig, ops->randn(rig->device, rig->stream, &part.t, seed, 10 + (uint64_t)starts[k]), "randn");
    memcpy(part.v, all.v + starts[k], 333 * sizeof *part.v);
    operand_expect_exact(rig, &part, "randn from an offset");
  }
  rig_ok(rig, ops->randn(rig->device, rig->stream, &part.t, seed + 1, 10), "randn");
  double *other = malloc(333 * sizeof *other);
  cr_assert(other);
  rig_download(rig, &part.t, other);
  int same = 0;
  for (int i = 0; i < 333; i++) same += other[i] == all.v[i];
  cr_assert_leq(same, 1, "another seed, %d of 333 numbers the same", same);
  free(other);
  OPERANDS_FREE(rig, &all, &part);
}

enum { PARAMETERS = 3 };
static const int64_t counts[PARAMETERS] = {1, 333, 4096};

typedef struct parameters {
  operand value[PARAMETERS], grad[PARAMETERS], m[PARAMETERS], v[PARAMETERS], half[PARAMETERS];
  pd_parameter list[PARAMETERS];
  operand step, found;
  pd_dtype half_dtype;
  bool with_half;
} parameters;

static void parameters_make(device_rig *rig, parameters *p, pd_dtype half_dtype) {
  p->half_dtype = half_dtype;
  p->with_half = rig->ops->tensor->supports(rig->device, half_dtype, PD_NCHW);
  p->step = operand_output(rig, PD_I64, PD_NCHW, 1, &(const int64_t){1});
  p->found = operand_number(rig, 0);
  operand_set(rig, &p->step, &(const double){0});
  for (int i = 0; i < PARAMETERS; i++) {
    p->value[i] = INPUT(rig, OPERAND_F32, counts[i]);
    p->grad[i] = INPUT(rig, OPERAND_F32, counts[i]);
    p->m[i] = OUTPUT(rig, OPERAND_F32, counts[i]);
    p->v[i] = OUTPUT(rig, OPERAND_F32, counts[i]);
    operand_set(rig, &p->m[i], p->m[i].v); /* zeros */
    operand_set(rig, &p->v[i], p->v[i].v);
    p->list[i] = (pd_parameter){.value = p->value[i].t.data,
                                .grad = p->grad[i].t.data,
                                .m = p->m[i].t.data,
                                .v = p->v[i].t.data,
                                .count = counts[i]};
    if (!p->with_half) continue;
    p->half[i] = operand_output(rig, half_dtype, PD_NCHW, 1, &counts[i]);
    p->list[i].half = p->half[i].t.data;
  }
}
static void parameters_free(device_rig *rig, parameters *p) {
  for (int i = 0; i < PARAMETERS; i++) {
    OPERANDS_FREE(rig, &p->value[i], &p->grad[i], &p->m[i], &p->v[i]);
    if (p->with_half) operand_free(rig, &p->half[i]);
  }
  OPERANDS_FREE(rig, &p->step, &p->found);
}
static pd_adamw settings(const parameters *p) {
  return (pd_adamw){.size = sizeof(pd_adamw),
                    .half_dtype = p->half_dtype,
                    .lr = 1e-3,
                    .beta1 = 0.9,
                    .beta2 = 0.999,
                    .eps = 1e-8,
                    .weight_decay = 0.01,
                    .step = p->step.t.data,
                    .found_inf = p->found.t.data};
}

static void adamw_with(device_rig *rig, pd_dtype half_dtype) {
  enum { STEPS = 5 };
  parameters p;
  parameters_make(rig, &p, half_dtype);
  pd_adamw h = settings(&p);
  for (int64_t step = 1; step <= STEPS; step++) {
    pd_parameter list[PARAMETERS];
    memcpy(list, p.list, sizeof list);
    if (step == STEPS) h.found_inf = NULL; /* always update */
    rig_ok(rig, rig->ops->tensor->adamw(rig->device, rig->stream, list, PARAMETERS, &h), "adamw");
    memset(list, 0xFF, sizeof list); /* the list is copied */
    for (int i = 0; i < PARAMETERS; i++)
      reference_adamw(p.value[i].v, p.m[i].v, p.v[i].v, p.grad[i].v, counts[i], &h, step);
  }
  p.step.v[0] = STEPS;
  operand_expect_exact(rig, &p.step, "adamw step");
  for (int i = 0; i < PARAMETERS; i++) {
    /* Each step rounds a handful of products; the steps' roundings add up. */
    const double bound = rig_bound(PD_F32, 8 * STEPS * STEPS);
    operand_expect(rig, &p.value[i], bound, "adamw value");
    operand_expect(rig, &p.m[i], bound, "adamw m");
    operand_expect(rig, &p.v[i], bound, "adamw v");
    if (p.with_half) rig_expect(rig, &p.half[i].t, p.value[i].v, rig_bound(half_dtype, 1), "adamw half");
  }
  parameters_free(rig, &p);
}

void suite_adamw(device_rig *rig) {
  adamw_with(rig, PD_F16);
  adamw_with(rig, PD_BF16);
}

void suite_adamw_skips(device_rig *rig) {
  parameters p;
  parameters_make(rig, &p, PD_F16);
  const pd_adamw h = settings(&p);
  operand_set(rig, &p.found, &(const double){1});
  rig_ok(rig, rig->ops->tensor->adamw(rig->device, rig->stream, p.list, PARAMETERS, &h), "adamw");
  operand_expect_exact(rig, &p.step, "adamw step");
  for (int i = 0; i < PARAMETERS; i++) {
    operand_expect_exact(rig, &p.value[i], "adamw value");
    operand_expect_exact(rig, &p.m[i], "adamw m");
    operand_expect_exact(rig, &p.v[i], "adamw v");
  }
  parameters_free(rig, &p);
}

void suite_unscale(device_rig *rig) {
  static const double bad[] = {(double)INFINITY, (double)-INFINITY, (double)NAN};
  parameters p;
  parameters_make(rig, &p, PD_F16);
  operand scale = operand_number(rig, 65536);
  const pd_scaler scaler = {.scale = scale.t.data, .found_inf = p.found.t.data};
  operand_set(rig, &p.found, &(const double){1}); /* the last step's */
  rig_ok(rig, rig->ops->tensor->unscale(rig->device, rig->stream, p.list, PARAMETERS, &scaler), "unscale");
  for (int i = 0; i < PARAMETERS; i++) {
    for (int64_t k = 0; k < counts[i]; k++) p.grad[i].v[k] /= 65536;
    operand_expect_exact(rig, &p.grad[i], "unscale"); /* a power of two */
  }
  p.found.v[0] = 0;
  operand_expect_exact(rig, &p.found, "found_inf of finite gradients");
  p.found.v[0] = 1;
  for (int i = 0; i < PARAMETERS; i++)
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
      const double good = p.grad[i].v[counts[i] - 1];
      p.grad[i].v[counts[i] - 1] = bad[k];
      operand_set(rig, &p.grad[i], p.grad[i].v);
      operand_poison(rig, &p.found);
      rig_ok(rig, rig->ops->tensor->unscale(rig->device, rig->stream, p.list, PARAMETERS, &scaler), "unscale");
      operand_expect_exact(rig, &p.found, "found_inf");
      p.grad[i].v[counts[i] - 1] = good;
      operand_set(rig, &p.grad[i], p.grad[i].v);
    }
  operand_free(rig, &scale);
  parameters_free(rig, &p);
}

void suite_scaler(device_rig *rig) {
  operand scale = operand_number(rig, 65536), found = operand_number(rig, 0);
  operand good = operand_output(rig, PD_I32, PD_NCHW, 1, &(const int64_t){1});
  operand_set(rig, &good, &(const double){0});
  const pd_scaler scaler = {.scale = scale.t.data,
                            .found_inf = found.t.data,
                            .good_steps = good.t.data,
                            .growth = 2,
                            .backoff = 0.5,
                            .interval = 3};
  static const double script[][3] = {/* found, then scale and good steps after it */
                                     {0, 65536, 1}, {0, 65536, 2}, {0, 131072, 0}, {0, 131072, 1}, {1, 65536, 0},
                                     {1, 32768, 0}, {0, 32768, 1}, {0, 32768, 2},  {1, 16384, 0},  {0, 16384, 1}};
  for (size_t i = 0; i < sizeof script / sizeof script[0]; i++) {
    operand_set(rig, &found, &script[i][0]);
    rig_ok(rig, rig->ops->tensor->scaler_update(rig->device, rig->stream, &scaler), "scaler_update");
    scale.v[0] = script[i][1];
    good.v[0] = script[i][2];
    operand_expect_exact(rig, &scale, "scale");
    operand_expect_exact(rig, &good, "good steps");
  }
  OPERANDS_FREE(rig, &scale, &found, &good);
}

void suite_spin(device_rig *rig) {
  const pd_tensor_ops *ops = rig->ops->tensor;
  const pd_stream_ops *streams = rig->ops->stream;
  pd_event *start = NULL, *end = NULL;
  double ns = 0;
  if (!PD_HAS(pd_tensor_ops, ops, spin) || !ops->spin) cr_skip_test("this device cannot spin");
  cr_assert_eq(ops->spin(rig->device, rig->stream, -1), PD_INVALID);
  rig_ok(rig, streams->event_create(rig->device, &start), "event");
  rig_ok(rig, streams->event_create(rig->device, &end), "event");
  rig_ok(rig, streams->event_record(rig->device, rig->stream, start), "record");
  rig_ok(rig, ops->spin(rig->device, rig->stream, 0), "spin");
  rig_ok(rig, ops->spin(rig->device, rig->stream, 3000000), "spin");
  rig_ok(rig, streams->event_record(rig->device, rig->stream, end), "record");
  rig_sync(rig);
  rig_ok(rig, streams->event_elapsed_ns(rig->device, start, end, &ns), "elapsed");
  cr_assert_geq(ns, 2.99e6); /* a device's clock may tick in microseconds */
  streams->event_destroy(rig->device, start);
  streams->event_destroy(rig->device, end);
}
