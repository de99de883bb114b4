/* The loss scaler: growth, back-off, and steps left out, with the host's read and without. */
#include "pd_test.h"
#include "train_rig.h"

#include "train/scaler.h"

#include <math.h>

enum { COUNT = 5 };

typedef struct scene {
  train_rig rig;
  train_context c;
  parameters all;
  adamw_state adamw;
  scaler_state scaler;
} scene;

static void scene_open(scene *s) {
  memset(s, 0, sizeof *s);
  train_rig_open(&s->rig);
  s->c = train_rig_context(&s->rig);
  const parameter_kind kind = {.name = "w", .shape = tensor_vector(PD_F32, COUNT), .fan_in = 1};
  train_rig_ok(&s->rig, parameters_add(&s->c, &s->all, 1, &kind), "parameter");
  train_rig_ok(&s->rig, adamw_open(&s->c, &s->adamw, 1e-3), "adamw");
  train_rig_ok(&s->rig, scaler_open(&s->c, &s->scaler), "scaler");
}

static void scene_close(scene *s) {
  scaler_close(&s->c, &s->scaler);
  adamw_close(&s->c, &s->adamw);
  parameters_close(&s->c, &s->all);
  train_rig_close(&s->rig);
}

static void step(scene *s, float gradient, bool read_back) {
  const float grad[COUNT] = {1, 2, gradient, 4, 5};
  train_parameter_state *p = &s->all.at[0];
  train_rig_ok(&s->rig,
               s->c.memory->copy(s->c.device, s->c.stream, p->grad.data, grad, sizeof grad, PD_COPY_HOST_TO_DEVICE),
               "gradient");
  p->has_grad = true;
  train_rig_ok(&s->rig, scaler_step(&s->c, &s->scaler, &s->adamw, &s->all, read_back), "scaler_step");
}

static double scale_of(scene *s) {
  float scale;
  train_rig_ok(&s->rig, scaler_item(&s->c, &s->scaler.scale, &scale), "item");
  return (double)scale;
}

static void expect_moved(scene *s, float before[COUNT], bool moved) {
  float after[COUNT];
  train_rig_ok(&s->rig, parameter_read(&s->c, &s->all.at[0].value, after), "value");
  for (int i = 0; i < COUNT; i++) cr_assert_eq(after[i] != before[i], moved, "element %d", i);
  memcpy(before, after, sizeof after);
}

static void overflows(bool read_back) {
  scene s;
  scene_open(&s);
  float value[COUNT];
  train_rig_ok(&s.rig, parameter_read(&s.c, &s.all.at[0].value, value), "value");
  cr_assert_eq(scale_of(&s), 65536);
  step(&s, 3, read_back);
  expect_moved(&s, value, true);
  cr_assert_eq(scale_of(&s), 65536);
  step(&s, INFINITY, read_back);
  expect_moved(&s, value, false);
  cr_assert_eq(scale_of(&s), 32768);
  step(&s, NAN, read_back);
  expect_moved(&s, value, false);
  cr_assert_eq(scale_of(&s), 16384);
  step(&s, 3, read_back);
  expect_moved(&s, value, true);
  cr_assert_eq(scale_of(&s), 16384);
  scene_close(&s);
}
PD_TEST(scaler, an_overflow_halves_the_scale_and_updates_nothing_host) { overflows(true); }
PD_TEST(scaler, an_overflow_halves_the_scale_and_updates_nothing_device) { overflows(false); }

PD_TEST(scaler, gradients_are_unscaled) {
  scene s;
  scene_open(&s);
  float grad[COUNT];
  step(&s, 65536, false);
  train_rig_ok(&s.rig, parameter_read(&s.c, &s.all.at[0].grad, grad), "gradient");
  cr_assert_eq(grad[2], 1.0F);
  cr_assert_eq(grad[0], 0x1p-16F);
  scene_close(&s);
}

PD_TEST(scaler, two_thousand_good_steps_double_the_scale) {
  scene s;
  scene_open(&s);
  for (int i = 0; i < 1000; i++) step(&s, 3, false);
  step(&s, INFINITY, false); /* starts the count anew */
  for (int i = 0; i < 1999; i++) step(&s, 3, false);
  cr_assert_eq(scale_of(&s), 32768);
  step(&s, 3, false);
  cr_assert_eq(scale_of(&s), 65536);
  scene_close(&s);
}

/* The host's read is one blocking copy; without it no call waits. */
static void expect_reads(bool read_back) {
  scene s;
  scene_open(&s);
  step(&s, 3, false);
  train_rig_trace_begin(&s.rig);
  train_rig_step_begin(&s.rig);
  train_rig_ok(&s.rig, scaler_step(&s.c, &s.scaler, &s.adamw, &s.all, read_back), "scaler_step");
  train_rig_step_end(&s.rig);
  pd_trace *trace = train_rig_trace_end(&s.rig);
  cr_assert_eq(trace_ranges(trace, "aten::item"), read_back);
  cr_assert_eq(trace_ranges(trace, "aten::_local_scalar_dense"), read_back);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE), read_back);
  cr_assert_eq(trace_ranges(trace, "Optimizer.step#AdamW.step"), 1);
  trace_free(trace);
  scene_close(&s);
}
PD_TEST(scaler, the_host_reads_once_a_step) { expect_reads(true); }
PD_TEST(scaler, the_device_decides_without_a_read) { expect_reads(false); }
