/* The training kit as a scenario sees it: what a step launches, records, allocates and reads; refusals; a scenario's
 * own tensors; graphs; failures. Numbers are test_goldens.c's. */
#include "train_parts.h"

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
