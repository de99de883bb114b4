/* ddp on one rank, and what it needs of the training kit: gradients in memory of the scenario's, which is told when
 * they are written. Several ranks: tests/cli/ranks/test_ddp.py. */
#include "pd_test.h"
#include "scenario_rig.h"

#include <stdlib.h>

PD_TEST(ddp, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=device", NULL};
  scenario_rig_open(&rig, "ddp", NULL);
  scenario_rig_expect(&rig, "ddp", "none", presets);
  scenario_rig_close(&rig);
}

PD_TEST(ddp, one_rank_trains_and_reduces_nothing) {
  scenario_rig rig;
  const char *const overrides[] = {"straggler_us=1000", "uneven_batch=2", "overlap=false", NULL};
  scenario_rig_open(&rig, "ddp", overrides);
  pd_trace *trace = scenario_rig_trace(&rig, false, 1);
  cr_assert_eq(trace_ranges(trace, "Optimizer.step#AdamW.step"), SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "c10d::allreduce_"), 0);
  cr_assert_eq(trace_ranges(trace, "straggler"), 0);
  const pd_range *loss = trace_range(trace, "aten::cross_entropy_loss", 0);
  cr_assert_eq(PD_AT(pd_shape, &trace->shapes, loss->shape_first)->dims[0], SCENARIO_BATCH);
  trace_free(trace);
  scenario_rig_close(&rig);
}

enum { PARAMETERS = 8 };

typedef struct told_gradients {
  uint32_t count, order[2 * PARAMETERS];
} told_gradients;

static pd_status ready(void *user, uint32_t index) {
  told_gradients *self = user;
  if (self->count < 2 * PARAMETERS) self->order[self->count++] = index;
  return PD_OK;
}

static void one_pass(train_rig *rig, const pd_step *at) {
  pd_tensor images;
  train_rig_ok(rig, rig->train->to_device(rig->train, at, &images), "to_device");
  train_rig_ok(rig, rig->train->zero_grad(rig->train), "zero_grad");
  train_rig_ok(rig, rig->train->forward(rig->train), "forward");
  train_rig_ok(rig, rig->train->backward(rig->train), "backward");
}

PD_TEST(ddp, the_kit_tells_of_each_gradient_once_and_writes_it_where_it_was_asked_to) {
  train_rig rig;
  told_gradients of = {.count = 0};
  train_rig_open(&rig);
  const train_config config = train_rig_config();
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  const pd_train_model model = {.size = sizeof model, .width = 2};
  train_rig_ok(&rig, rig.train->configure(rig.train, &model), "configure");
  pd_train_parameter at = {.size = sizeof at};
  for (uint32_t i = 0; i < PARAMETERS; i++) train_rig_ok(&rig, rig.train->parameter(rig.train, i, &at), "parameter");
  cr_assert_eq(rig.train->parameter(rig.train, PARAMETERS, &at), PD_STOP);
  cr_assert_str_eq(at.name, "head.bias");
  train_rig_ok(&rig, rig.train->parameter(rig.train, 4, &at), "parameter");
  cr_assert_str_eq(at.name, "conv3.weight");
  cr_assert_eq(at.count, 512 * 256 * 9);
  float *memory = aligned_alloc(256, (size_t)at.count * sizeof *memory);
  memory[0] = memory[at.count - 1] = 12345.0F;
  train_rig_ok(&rig, rig.train->place_gradient(rig.train, 4, memory), "place_gradient");
  train_rig_ok(&rig, rig.train->on_gradient(rig.train, ready, &of), "on_gradient");
  pd_batch batch = train_rig_batch(4, 16, 1);
  const pd_step step = {.size = sizeof step, .batch = &batch};
  one_pass(&rig, &step);
  cr_assert_eq(of.count, PARAMETERS);
  for (uint32_t i = 0; i < PARAMETERS; i++) cr_assert_eq(of.order[i], PARAMETERS - 1 - i, "the last ones first");
  float head[4];
  train_rig_ok(&rig, rig.train->optimizer_step(rig.train), "optimizer_step");
  double loss;
  train_rig_ok(&rig, rig.train->item(rig.train, &loss), "item"); /* waits */
  memcpy(head, memory, sizeof head);
  cr_assert_neq(head[0], 12345.0F);
  cr_assert_neq(memory[at.count - 1], 12345.0F);
  cr_assert_eq(rig.train->place_gradient(rig.train, 4, memory), PD_INVALID, "after a step");
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
  free(memory);
}
