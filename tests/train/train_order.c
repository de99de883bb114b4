/* Batches, the order of the parts of a step, and losses. */
#include "train_parts.h"

/* ---- input ---- */

PD_TEST(train, a_resident_batch_is_copied_once_and_never_changed) {
  train_rig rig;
  open_kit(&rig, train_rig_config(), false);
  const pd_train *train = rig.train;
  pd_batch batch = train_rig_batch(N, S, 1), other = train_rig_batch(N, S, 2);
  batch.resident = 7;
  other.resident = 8;
  train_rig_ok(&rig, train_kit_keep(rig.kit, &other), "keep");
  const pd_step at = {.size = sizeof at, .batch = &batch};
  const pd_step at_other = {.size = sizeof at_other, .batch = &other};
  pd_tensor images, again;
  float *host = malloc(tensor_bytes(&(pd_tensor){.rank = 4, .dtype = PD_F32, .shape = {N, 3, S, S}}));
  train_rig_ok(&rig, train->to_device(train, &at, &images), "to_device");
  train_rig_trace_begin(&rig);
  train_rig_step_begin(&rig);
  train_rig_ok(&rig, train->to_device(train, &at_other, &again), "to_device");
  cr_assert_neq(again.data, images.data);
  train_rig_ok(&rig, train->to_device(train, &at, &again), "to_device");
  cr_assert_eq(again.data, images.data);
  train_rig_step_end(&rig);
  pd_trace *trace = train_rig_trace_end(&rig);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE), 0);
  trace_free(trace);
  /* a scenario that adds to the images gets memory of its own */
  pd_tensor one;
  const pd_tensor scalar = {.rank = 1, .shape = {1}, .dtype = PD_F32};
  train_rig_ok(&rig, train->empty_like(train, &scalar, PD_ALLOCATOR_CACHED, &one), "empty_like");
  train_rig_ok(&rig, rig.ops.tensor->fill(rig.access.device, rig.access.stream, &one, 1), "fill");
  train_rig_ok(&rig, train->add(train, &again, &again, &one, 2), "add");
  cr_assert_neq(again.data, images.data);
  for (int k = 0; k < 2; k++) {
    const pd_tensor *from = k ? &again : &images;
    train_rig_ok(&rig,
                 rig.memory.copy(rig.access.device, rig.access.stream, host, from->data, tensor_bytes(from),
                                 PD_COPY_DEVICE_TO_HOST),
                 "copy");
    for (int64_t i = 0; i < tensor_count(from); i++) cr_assert_eq(host[i], batch.images[i] + (k ? 2.0F : 0.0F));
  }
  /* and the model sees what the scenario made of them */
  double changed, plain;
  train_rig_ok(&rig, train->forward(train), "forward");
  train_rig_ok(&rig, train->item(train, &changed), "item");
  train_rig_ok(&rig, train->to_device(train, &at, &again), "to_device");
  cr_assert_eq(again.data, images.data);
  train_rig_ok(&rig, train->forward(train), "forward");
  train_rig_ok(&rig, train->item(train, &plain), "item");
  cr_assert_neq(changed, plain);
  train_rig_ok(&rig, train->tensor_free(train, PD_ALLOCATOR_CACHED, &one), "tensor_free");
  free(host);
  train_rig_batch_free(&batch);
  train_rig_batch_free(&other);
  train_rig_close(&rig);
}

PD_TEST(train, batches_of_other_sizes_train_too) {
  train_rig rig;
  open_kit(&rig, train_rig_config(), true);
  for (int64_t n = 1; n <= 5; n += 2) {
    pd_batch batch = train_rig_batch(n, 16 + n, 3);
    const pd_step at = {.size = sizeof at, .batch = &batch};
    double loss = 0;
    train_rig_ok(&rig, rig.train->step(rig.train, &at), "step");
    train_rig_ok(&rig, rig.train->item(rig.train, &loss), "item");
    cr_assert(isfinite(loss) && loss > 0);
    train_rig_batch_free(&batch);
  }
  train_rig_close(&rig);
}

/* ---- order and accumulation ---- */

PD_TEST(train, parts_out_of_order_are_refused) {
  train_rig rig;
  open_kit(&rig, train_rig_config(), false);
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = 1};
  pd_batch batch = train_rig_batch(N, S, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  cr_assert_eq(rig.train->forward(rig.train), PD_INVALID);
  cr_assert(strstr(rig.host.message, "call to_device first"), "%s", rig.host.message);
  cr_assert_eq(rig.train->backward(rig.train), PD_INVALID);
  cr_assert(strstr(rig.host.message, "call forward first"), "%s", rig.host.message);
  train_rig_ok(&rig, rig.train->step(rig.train, &at), "step");
  cr_assert_eq(rig.train->configure(rig.train, &model), PD_INVALID);
  cr_assert(strstr(rig.host.message, "before the first step"), "%s", rig.host.message);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

/* Without zero_grad a second pass adds its gradients, as in torch. */
static void accumulates(bool fused) {
  train_rig rig;
  train_config config = train_rig_config();
  config.fused = fused;
  open_kit(&rig, config, true);
  pd_batch batch = train_rig_batch(N, S, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  const pd_train *train = rig.train;
  float *once[12] = {0}, *twice;
  bool present;
  train_rig_ok(&rig, train->to_device(train, &at, NULL), "to_device");
  train_rig_ok(&rig, train->zero_grad(train), "zero_grad");
  for (int pass = 0; pass < 2; pass++) {
    train_rig_ok(&rig, train->forward(train), "forward");
    train_rig_ok(&rig, train->backward(train), "backward");
    for (uint32_t p = 0; p < 12; p++) {
      train_parameter about;
      train_rig_ok(&rig, train_kit_parameter(rig.kit, p, &about), "parameter");
      twice = malloc((size_t)about.count * sizeof *twice);
      train_rig_ok(&rig, train_kit_read_grad(rig.kit, p, twice, &present), "gradient");
      cr_assert(present);
      if (!pass) {
        once[p] = twice;
        continue;
      }
      double off = 0, all = 0;
      for (int64_t i = 0; i < about.count; i++) {
        off += pow((double)twice[i] - 2 * (double)once[p][i], 2);
        all += pow((double)once[p][i], 2);
      }
      cr_assert(all > 0 && sqrt(off / all) < 1e-5, "%s: %g", about.name, sqrt(off / all));
      free(once[p]);
      free(twice);
    }
  }
  train_rig_ok(&rig, train->zero_grad(train), "zero_grad");
  float unused;
  train_rig_ok(&rig, train_kit_read_grad(rig.kit, 0, &unused, &present), "gradient");
  cr_assert_not(present);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

PD_TEST(train, gradients_accumulate_unfused) { accumulates(false); }
PD_TEST(train, gradients_accumulate_fused) { accumulates(true); }

/* ---- losses ---- */

PD_TEST(train, losses_come_in_order_and_once) {
  train_rig rig;
  open_kit(&rig, train_rig_config(), false);
  double want[5], got[5];
  uint64_t count = 9;
  train_rig_ok(&rig, train_kit_losses(rig.kit, got, 5, &count), "losses");
  cr_assert_eq(count, 0);
  for (int i = 0; i < 5; i++) {
    pd_batch batch = train_rig_batch(N, S, (uint64_t)i);
    const pd_step at = {.size = sizeof at, .batch = &batch};
    train_rig_ok(&rig, rig.train->step(rig.train, &at), "step");
    train_rig_ok(&rig, rig.train->item(rig.train, &want[i]), "item");
    train_rig_batch_free(&batch);
  }
  train_rig_ok(&rig, train_kit_losses(rig.kit, got, 3, &count), "losses");
  cr_assert_eq(count, 3);
  train_rig_ok(&rig, train_kit_losses(rig.kit, got + 3, 2, &count), "losses");
  cr_assert_eq(count, 2);
  for (int i = 0; i < 5; i++) cr_assert_eq(got[i], want[i]);
  for (int i = 1; i < 5; i++) cr_assert_neq(want[i], want[0]);
  train_rig_ok(&rig, train_kit_losses(rig.kit, got, 5, &count), "losses");
  cr_assert_eq(count, 0);
  train_rig_close(&rig);
}

/* The ring wraps: the last 65536 stay, the older ones are gone. */
PD_TEST(train, the_loss_history_wraps) {
  train_rig rig;
  train_rig_open(&rig);
  train_context c = {.host = &rig.host.host,
                     .record = rig.record,
                     .device = rig.access.device,
                     .stream = rig.access.stream,
                     .memory = rig.ops.memory,
                     .streams = rig.ops.stream};
  memcpy(&c.t, rig.ops.tensor, rig.ops.tensor->size < sizeof c.t ? rig.ops.tensor->size : sizeof c.t);
  loss_history history = {0};
  train_rig_ok(&rig, losses_open(&c, &history, false), "losses_open");
  const uint64_t done = TRAIN_LOSSES_KEPT + 3;
  for (uint64_t i = 0; i < done; i++) {
    const pd_tensor *slot = losses_slot(&history);
    if (i < 4 || i >= TRAIN_LOSSES_KEPT - 1) train_rig_ok(&rig, c.t.fill(c.device, c.stream, slot, (double)i), "fill");
    train_rig_ok(&rig, losses_commit(&c, &history), "commit");
  }
  double *values = malloc(done * sizeof *values);
  uint64_t count = 0;
  train_rig_ok(&rig, losses_read(&c, &history, values, done, &count), "losses_read");
  cr_assert_eq(count, TRAIN_LOSSES_KEPT);
  cr_assert_eq(values[0], 3); /* 0, 1, 2 were overwritten */
  for (uint64_t i = 0; i < 4; i++) cr_assert_eq(values[count - 1 - i], (double)(done - 1 - i));
  free(values);
  losses_close(&c, &history);
  train_rig_close(&rig);
}

PD_TEST(train, item_is_one_blocking_read) {
  train_rig rig;
  open_kit(&rig, train_rig_config(), false);
  pd_batch batch = train_rig_batch(N, S, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  double loss = 0;
  train_rig_ok(&rig, rig.train->step(rig.train, &at), "step");
  train_rig_trace_begin(&rig);
  train_rig_step_begin(&rig);
  train_rig_ok(&rig, rig.train->item(rig.train, &loss), "item");
  train_rig_step_end(&rig);
  pd_trace *trace = train_rig_trace_end(&rig);
  cr_assert_eq(trace_ranges(trace, "aten::item"), 1);
  const pd_range *inner = trace_range(trace, "aten::_local_scalar_dense", 0);
  cr_assert_str_eq(name_of(trace, PD_AT(pd_range, &trace->ranges, inner->parent)), "aten::item");
  cr_assert_eq(trace_copies(trace, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE), 1);
  cr_assert_eq(trace_calls(trace, PD_API_SYNC), 2); /* the read's own and the rig's at the end of the step */
  double scale = 0;
  train_rig_ok(&rig, train_kit_loss_scale(rig.kit, &scale), "loss_scale");
  cr_assert_eq(scale, 1); /* without amp */
  trace_free(trace);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}
