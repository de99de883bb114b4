/* The training kit as a scenario sees it: what a step launches, records, allocates and reads; refusals; a scenario's
 * own tensors; graphs; failures. Numbers are test_goldens.c's. */
#include "pd_test.h"
#include "train_rig.h"

#include "train/losses.h"
#include "train/tensor.h"

#include <math.h>
#include <stdlib.h>

enum { N = 4, S = 32 };

static void open_kit(train_rig *rig, train_config config, bool tiny) {
  train_rig_open(rig);
  train_rig_ok(rig, train_rig_kit(rig, &config), "kit");
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = tiny};
  train_rig_ok(rig, rig->train->configure(rig->train, &model), "configure");
}

/* Two steps to warm up, then one step in a trace. */
static pd_trace *trace_step(train_rig *rig, const pd_batch *batch) {
  const pd_step at = {.size = sizeof at, .batch = batch};
  for (int i = 0; i < 2; i++) train_rig_ok(rig, rig->train->step(rig->train, &at), "step");
  const uint64_t allocations = train_rig_allocations();
  train_rig_trace_begin(rig);
  train_rig_step_begin(rig);
  train_rig_ok(rig, rig->train->step(rig->train, &at), "step");
  train_rig_step_end(rig);
  cr_assert_eq(train_rig_allocations(), allocations, "a step after warm-up allocates");
  return train_rig_trace_end(rig);
}

static const char *name_of(const pd_trace *trace, const pd_range *range) {
  return pd_trace_string(trace, range->name)->text;
}

static void first_weights(uint64_t seed, float *out) {
  train_rig rig;
  train_rig_open(&rig);
  train_config config = train_rig_config();
  config.seed = seed;
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  const pd_train_model model = {.size = sizeof model};
  train_rig_ok(&rig, rig.train->configure(rig.train, &model), "configure");
  train_parameter about;
  train_rig_ok(&rig, train_kit_parameter(rig.kit, 0, &about), "parameter");
  cr_assert_eq(about.count, 64 * 27);
  train_rig_ok(&rig, train_kit_read_value(rig.kit, 0, out), "value");
  train_rig_close(&rig);
}

/* 2^29 * 1000 is a multiple of 2^32. */
PD_TEST(train, every_seed_has_weights_of_its_own) {
  static float one[64 * 27], other[64 * 27];
  first_weights(1, one);
  first_weights(1 + (UINT64_C(1) << 29), other);
  int same = 0;
  for (int i = 0; i < 64 * 27; i++) same += one[i] == other[i];
  cr_assert_lt(same, 10);
}

PD_TEST(train, a_step_records_the_words_of_torch) {
  train_rig rig;
  train_config config = train_rig_config();
  config.fused = false;
  open_kit(&rig, config, false);
  pd_batch batch = train_rig_batch(N, S, 1);
  pd_trace *trace = trace_step(&rig, &batch);
  static const struct {
    const char *name;
    uint64_t count;
    pd_range_kind kind;
    pd_part part;
  } want[] = {{"aten::to", 2, PD_RANGE_OP, PD_PART_NONE},
              {"aten::copy_", 2, PD_RANGE_OP, PD_PART_NONE},
              {"forward", 1, PD_RANGE_USER, PD_PART_FORWARD},
              {"aten::conv2d", 3, PD_RANGE_OP, PD_PART_FORWARD},
              {"aten::add_", 3, PD_RANGE_OP, PD_PART_FORWARD},
              {"aten::relu", 3, PD_RANGE_OP, PD_PART_FORWARD},
              {"aten::mean", 1, PD_RANGE_OP, PD_PART_FORWARD},
              {"aten::linear", 1, PD_RANGE_OP, PD_PART_FORWARD},
              {"aten::addmm", 1, PD_RANGE_OP, PD_PART_FORWARD},
              {"aten::cross_entropy_loss", 1, PD_RANGE_OP, PD_PART_FORWARD},
              {"backward", 1, PD_RANGE_USER, PD_PART_BACKWARD},
              {"autograd::engine::evaluate_function: ConvolutionBackward0", 3, PD_RANGE_OP, PD_PART_BACKWARD},
              {"ConvolutionBackward0", 3, PD_RANGE_OP, PD_PART_BACKWARD},
              {"aten::convolution_backward", 3, PD_RANGE_OP, PD_PART_BACKWARD},
              {"autograd::engine::evaluate_function: ReluBackward0", 3, PD_RANGE_OP, PD_PART_BACKWARD},
              {"autograd::engine::evaluate_function: MeanBackward1", 1, PD_RANGE_OP, PD_PART_BACKWARD},
              {"autograd::engine::evaluate_function: AddmmBackward0", 1, PD_RANGE_OP, PD_PART_BACKWARD},
              {"aten::mm", 2, PD_RANGE_OP, PD_PART_BACKWARD},
              {"Optimizer.zero_grad#AdamW.zero_grad", 1, PD_RANGE_USER, PD_PART_OPTIMIZATION},
              {"Optimizer.step#AdamW.step", 1, PD_RANGE_USER, PD_PART_OPTIMIZATION},
              {"aten::item", 0, 0, 0},
              {"nn.Module: SimpleCNN_0", 0, 0, 0}};
  for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
    cr_assert_eq(trace_ranges(trace, want[i].name), want[i].count, "%s: %lu", want[i].name,
                 trace_ranges(trace, want[i].name));
    if (!want[i].count) continue;
    const pd_range *range = trace_range(trace, want[i].name, 0);
    cr_assert_eq(range->kind, want[i].kind, "%s", want[i].name);
    cr_assert_eq(range->part, want[i].part, "%s", want[i].name);
  }
  cr_assert_eq(trace_copies(trace, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE), 2);
  trace_free(trace);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

PD_TEST(train, forward_and_backward_are_tied_in_reverse) {
  train_rig rig;
  train_config config = train_rig_config();
  config.fused = false;
  open_kit(&rig, config, true);
  pd_batch batch = train_rig_batch(N, S, 1);
  pd_trace *trace = trace_step(&rig, &batch);
  uint32_t forward[512], backward[512];
  uint64_t forwards = 0, backwards = 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (!range->sequence) continue;
    cr_assert_eq(range->part, range->backward ? PD_PART_BACKWARD : PD_PART_FORWARD, "%s", name_of(trace, range));
    if (range->backward)
      backward[backwards++] = range->sequence;
    else
      forward[forwards++] = range->sequence;
  }
  /* 3 x (conv, relu), mean, head, slice, 30 x 7, cat, loss */
  cr_assert_eq(forwards, 6 + 2 + 1 + 210 + 1 + 1);
  cr_assert_eq(backwards, forwards);
  for (uint64_t i = 0; i < forwards; i++) {
    cr_assert_eq(forward[i], forward[0] + i);
    cr_assert_eq(backward[i], forward[forwards - 1 - i]);
  }
  trace_free(trace);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

PD_TEST(train, shapes_flops_and_modules_are_recorded) {
  train_rig rig;
  train_config config = train_rig_config();
  config.with_modules = true;
  open_kit(&rig, config, false);
  pd_batch batch = train_rig_batch(N, S, 1);
  pd_trace *trace = trace_step(&rig, &batch);
  const int64_t side[] = {S, S / 2, S / 4, S / 8}, channels[] = {3, 64, 128, 256};
  static const char *const paths[] = {"SimpleCNN.conv1", "SimpleCNN.conv2", "SimpleCNN.conv3"};
  for (uint64_t i = 0; i < 3; i++) {
    const pd_range *conv = trace_range(trace, "aten::conv2d", i);
    const uint64_t flops = (uint64_t)(2L * N * channels[i + 1] * side[i + 1] * side[i + 1] * channels[i] * 9);
    cr_assert_eq(conv->flops, flops);
    cr_assert_eq(conv->shape_count, 3);
    const pd_shape *x = PD_AT(pd_shape, &trace->shapes, conv->shape_first), *w = x + 1, *b = x + 2;
    cr_assert(x->rank == 4 && x->dtype == PD_F32 && x->dims[0] == N && x->dims[1] == channels[i] &&
              x->dims[2] == side[i] && x->dims[3] == side[i]);
    cr_assert(w->rank == 4 && w->dims[0] == channels[i + 1] && w->dims[1] == channels[i] && w->dims[3] == 3);
    cr_assert(b->rank == 1 && b->dims[0] == channels[i + 1]);
    cr_assert_str_eq(pd_trace_string(trace, conv->module)->text, paths[i]);
    /* backward: data and weight, the first layer weight alone; in reverse order */
    const pd_range *back = trace_range(trace, "aten::convolution_backward", 2 - i);
    cr_assert_eq(back->flops, i ? 2 * flops : flops);
    cr_assert_str_eq(pd_trace_string(trace, back->module)->text, paths[i]);
  }
  cr_assert_eq(trace_range(trace, "aten::addmm", 0)->flops, (uint64_t)2 * N * 256 * 1000);
  cr_assert_eq(trace_range(trace, "aten::mm", 0)->flops, (uint64_t)2 * N * 256 * 1000);
  cr_assert_eq(trace_range(trace, "aten::linear", 0)->flops, 0);
  static const char *const modules[] = {"nn.Module: SimpleCNN_0", "nn.Module: Conv2d_0", "nn.Module: Conv2d_1",
                                        "nn.Module: Conv2d_2", "nn.Module: Linear_0"};
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(trace_ranges(trace, modules[i]), 1);
    cr_assert_eq(trace_range(trace, modules[i], 0)->kind, PD_RANGE_MODULE);
    const char *const own = i == 0 ? "SimpleCNN" : i == 4 ? "SimpleCNN.head" : paths[i - 1];
    cr_assert_str_eq(pd_trace_string(trace, trace_range(trace, modules[i], 0)->module)->text, own);
  }
  trace_free(trace);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

static uint64_t launches_of(bool fused, bool tiny) {
  train_rig rig;
  train_config config = train_rig_config();
  config.fused = fused;
  open_kit(&rig, config, tiny);
  pd_batch batch = train_rig_batch(N, S, 1);
  pd_trace *trace = trace_step(&rig, &batch);
  const uint64_t launches = trace_calls(trace, PD_API_LAUNCH);
  if (!rig.props.is_cuda) cr_assert_eq(trace_kernels(trace), launches);
  trace_free(trace);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
  return launches;
}

/* Unfused, one launch per operation. Forward: 3 x (conv, bias, relu), mean, linear, loss. Backward: loss, 3 of linear,
 * mean, 3 x (relu, bias, weight) and 2 x data; AdamW. A library may need more kernels for an operation, never fewer. */
PD_TEST(train, unfused_is_one_launch_per_operation) {
  const uint64_t launches = launches_of(false, false);
  cr_assert_geq(launches, 12 + 16 + 1);
  if (!getenv("PDHOST_TEST_DEVICE")) cr_assert_eq(launches, 12 + 16 + 1, "%lu", launches);
}

/* The block adds 1 slice and 2 of cat, 7 a round; backward 2 moves, and a round: linear 3, LayerNorm 1, mul 2,
 * sigmoid 1, sum 1, scale 1, tanh 1, sum 1. */
PD_TEST(train, the_tiny_block_adds_hundreds_of_launches) {
  const uint64_t launches = launches_of(false, true);
  const uint64_t want = 29 + 3 + 30 * 7 + 2 + 30 * 11;
  cr_assert_geq(launches, want);
  if (!getenv("PDHOST_TEST_DEVICE")) cr_assert_eq(launches, want, "%lu, want %lu", launches, want);
}

PD_TEST(train, fused_launches_less) {
  const uint64_t launches = launches_of(true, false);
  cr_assert_leq(launches, 6 + 13 + 1 + 3, "%lu", launches);
}

PD_TEST(train, a_fused_round_is_five_launches) {
  const uint64_t launches = launches_of(true, true);
  cr_assert_leq(launches, 23 + 3 + 30 * 2 + 2 + 30 * 4, "%lu", launches);
}

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
