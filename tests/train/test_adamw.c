/* AdamW through the kit's parameters, against the formula in double. */
#include "pd_test.h"
#include "train_rig.h"

#include "train/adamw.h"

#include <math.h>
#include <stdlib.h>

static void write(train_context *c, pd_tensor *tensor, const float *values) {
  cr_assert_eq(
      c->memory->copy(c->device, c->stream, tensor->data, values, tensor_bytes(tensor), PD_COPY_HOST_TO_DEVICE), PD_OK);
}

enum { COUNT = 37 };

static void open_parameters(train_context *c, parameters *all) {
  const parameter_kind kinds[] = {{.name = "a", .shape = tensor_vector(PD_F32, COUNT), .fan_in = 4},
                                  {.name = "b", .shape = tensor_vector(PD_F32, COUNT), .fan_in = 4}};
  for (int i = 0; i < 2; i++) cr_assert_eq(parameters_add(c, all, 1, &kinds[i]), PD_OK);
}

PD_TEST(adamw, five_steps_follow_the_formula) {
  train_rig rig;
  train_rig_open(&rig);
  train_context c = train_rig_context(&rig);
  parameters all = {0};
  adamw_state adamw = {0};
  open_parameters(&c, &all);
  cr_assert_eq(adamw_open(&c, &adamw, 1e-2), PD_OK);
  float value[COUNT], grad[COUNT], before[COUNT];
  double want[COUNT], m[COUNT] = {0}, v[COUNT] = {0};
  cr_assert_eq(parameter_read(&c, &all.at[0].value, value), PD_OK);
  cr_assert_eq(parameter_read(&c, &all.at[1].value, before), PD_OK);
  for (int i = 0; i < COUNT; i++) want[i] = (double)value[i];
  for (int step = 1; step <= 5; step++) {
    for (int i = 0; i < COUNT; i++) grad[i] = sinf((float)(i * step) + 0.5F) * (float)pow(10, i % 7 - 5);
    write(&c, &all.at[0].grad, grad);
    all.at[0].has_grad = true;
    cr_assert_eq(adamw_step(&c, &adamw, &all, NULL), PD_OK);
    for (int i = 0; i < COUNT; i++) {
      const double g = (double)grad[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      want[i] -= 1e-2 * 0.01 * want[i];
      want[i] -= 1e-2 * m[i] / (1 - pow(0.9, step)) / (sqrt(v[i] / (1 - pow(0.999, step))) + 1e-8);
    }
    cr_assert_eq(parameter_read(&c, &all.at[0].value, value), PD_OK);
    for (int i = 0; i < COUNT; i++)
      cr_assert_lt(fabs((double)value[i] - want[i]), 1e-6, "step %d element %d: %.9g, want %.9g", step, i,
                   (double)value[i], want[i]);
  }
  /* no gradient, no update: not even weight decay */
  cr_assert_eq(parameter_read(&c, &all.at[1].value, value), PD_OK);
  cr_assert(train_rig_same(value, before, sizeof value));
  int64_t steps = 0;
  cr_assert_eq(c.memory->copy(c.device, c.stream, &steps, adamw.step.data, sizeof steps, PD_COPY_DEVICE_TO_HOST),
               PD_OK);
  cr_assert_eq(steps, 5);
  adamw_close(&c, &adamw);
  parameters_close(&c, &all);
  train_rig_close(&rig);
}

PD_TEST(adamw, nothing_moves_after_an_overflow) {
  train_rig rig;
  train_rig_open(&rig);
  train_context c = train_rig_context(&rig);
  parameters all = {0};
  adamw_state adamw = {0};
  open_parameters(&c, &all);
  cr_assert_eq(adamw_open(&c, &adamw, 1e-2), PD_OK);
  pd_tensor found_inf = tensor_vector(PD_F32, 1);
  cr_assert_eq(train_alloc(&c, &found_inf), PD_OK);
  const float one = 1, zero = 0;
  float grad[COUNT], before[COUNT], after[COUNT];
  for (int i = 0; i < COUNT; i++) grad[i] = 1;
  write(&c, &all.at[0].grad, grad);
  all.at[0].has_grad = true;
  cr_assert_eq(parameter_read(&c, &all.at[0].value, before), PD_OK);
  write(&c, &found_inf, &one);
  cr_assert_eq(adamw_step(&c, &adamw, &all, &found_inf), PD_OK);
  cr_assert_eq(parameter_read(&c, &all.at[0].value, after), PD_OK);
  cr_assert(train_rig_same(before, after, sizeof after));
  int64_t steps = -1;
  cr_assert_eq(c.memory->copy(c.device, c.stream, &steps, adamw.step.data, sizeof steps, PD_COPY_DEVICE_TO_HOST),
               PD_OK);
  cr_assert_eq(steps, 0);
  write(&c, &found_inf, &zero);
  cr_assert_eq(adamw_step(&c, &adamw, &all, &found_inf), PD_OK);
  cr_assert_eq(parameter_read(&c, &all.at[0].value, after), PD_OK);
  for (int i = 0; i < COUNT; i++) cr_assert_lt(after[i], before[i]);
  train_free(&c, &found_inf);
  adamw_close(&c, &adamw);
  parameters_close(&c, &all);
  train_rig_close(&rig);
}
