/* The training kit's modes and edges: what a device does not offer, half precision, graphs, memory that runs out, and
 * the tensors of a scenario's own. */
#include "modes_rig.h"

/* ---- what a device does not offer ---- */

static bool supports_nothing(pd_device *device, pd_dtype dtype, pd_layout layout) {
  (void)device, (void)dtype, (void)layout;
  return false;
}

static void expect_refusal(const train_config *config, pd_status code, const char *message) {
  train_rig rig;
  train_rig_open(&rig);
  pd_tensor_ops tensor = *rig.ops.tensor;
  pd_stream_ops streams = *rig.ops.stream;
  if (code == PD_UNSUPPORTED) {
    tensor.supports = supports_nothing;
    streams.capture_begin = NULL;
  }
  rig.ops.tensor = &tensor;
  rig.ops.stream = &streams;
  cr_assert_eq(train_rig_kit(&rig, config), code);
  cr_assert_null(rig.kit);
  cr_assert(strstr(rig.host.message, message), "%s", rig.host.message);
  train_rig_close(&rig);
}

PD_TEST(train_modes, amp_needs_half_precision) {
  train_config config = train_rig_config();
  config.amp = true;
  expect_refusal(&config, PD_UNSUPPORTED, "[train] amp = true: ");
  expect_refusal(&config, PD_UNSUPPORTED, "set amp = false or use --device cuda");
}

PD_TEST(train_modes, channels_last_needs_the_layout) {
  train_config config = train_rig_config();
  config.channels_last = true;
  expect_refusal(&config, PD_UNSUPPORTED, "set channels_last = false or use --device cuda");
}

PD_TEST(train_modes, cuda_graph_needs_capture) {
  train_config config = train_rig_config();
  config.cuda_graph = true;
  expect_refusal(&config, PD_UNSUPPORTED, "set cuda_graph = false or use --device cuda");
}

PD_TEST(train_modes, what_the_device_has_and_the_run_has_not_is_offered) {
  train_rig rig;
  train_rig_open(&rig);
  train_config config = train_rig_config();
  const train_offers all = train_offers_of(&rig.access, &config);
  cr_assert(all.channels_last);
  cr_assert_eq(all.amp, rig.ops.tensor->supports(rig.access.device, PD_F16, PD_NCHW));
  cr_assert_eq(all.cuda_graph, rig.ops.stream->capture_begin != NULL);
  config.amp = config.channels_last = config.cuda_graph = true;
  const train_offers again = train_offers_of(&rig.access, &config);
  cr_assert_not(again.amp || again.channels_last || again.cuda_graph);
  pd_tensor_ops tensor = *rig.ops.tensor;
  pd_stream_ops streams = *rig.ops.stream;
  tensor.supports = supports_nothing;
  streams.capture_begin = NULL;
  rig.ops.tensor = &tensor;
  rig.ops.stream = &streams;
  config = train_rig_config();
  const train_offers none = train_offers_of(&rig.access, &config);
  cr_assert_not(none.amp || none.channels_last || none.cuda_graph);
  train_rig_close(&rig);
}

/* ---- half precision, where the device has it ---- */

static void losses_of(const train_config *config, double *losses, int count) {
  train_rig rig;
  open_kit(&rig, config);
  for (int i = 0; i < count; i++) {
    pd_batch batch = train_rig_batch(N, S, (uint64_t)i % 4);
    step(&rig, &batch);
    train_rig_ok(&rig, rig.train->item(rig.train, &losses[i]), "item");
    train_rig_batch_free(&batch);
  }
  double scale = 0;
  train_rig_ok(&rig, train_kit_loss_scale(rig.kit, &scale), "loss_scale");
  cr_assert_eq(scale, config->amp && !config->amp_dtype ? 65536 : 1);
  train_rig_close(&rig);
}

PD_TEST(train_modes, half_precision_follows_the_single_precision_losses) {
  train_rig rig;
  train_rig_open(&rig);
  const bool offered = rig.ops.tensor->supports(rig.access.device, PD_F16, PD_NCHW);
  train_config config = train_rig_config();
  config.amp = true;
  const pd_status status = train_rig_kit(&rig, &config);
  cr_assert_eq(status, offered ? PD_OK : PD_UNSUPPORTED); /* one or the other: never silently single precision */
  train_rig_close(&rig);
  if (!offered) return;
  enum { STEPS = 20 };
  double single[STEPS], half[STEPS];
  config.amp = false;
  losses_of(&config, single, STEPS);
  for (int variant = 0; variant < 8; variant++) {
    config.amp = true;
    config.fused = variant & 1;
    config.scaler_sync = variant & 2;
    config.channels_last = variant & 4;
    losses_of(&config, half, STEPS);
    for (int i = 0; i < STEPS; i++)
      cr_assert_lt(fabs(half[i] - single[i]), 0.02 * single[i], "variant %d step %d: %g, want %g", variant, i, half[i],
                   single[i]);
  }
}

PD_TEST(train_modes, bfloat16_follows_them_too_and_scales_no_loss) {
  train_rig rig;
  train_rig_open(&rig);
  const bool half = rig.ops.tensor->supports(rig.access.device, PD_F16, PD_NCHW);
  const bool offered = rig.ops.tensor->supports(rig.access.device, PD_BF16, PD_NCHW);
  train_config config = train_rig_config();
  config.amp = true;
  config.amp_dtype = "bfloat16";
  cr_assert_eq(train_rig_kit(&rig, &config), offered ? PD_OK : PD_UNSUPPORTED);
  if (!offered)
    cr_assert(strstr(rig.host.message, half ? "[train] amp_dtype = bfloat16: " : "[train] amp = true: "), "%s",
              rig.host.message);
  train_rig_close(&rig);
  if (!offered) return;
  enum { STEPS = 20 };
  double single[STEPS], brain[STEPS];
  config.amp = false;
  losses_of(&config, single, STEPS);
  config.amp = true;
  for (int variant = 0; variant < 4; variant++) {
    config.fused = variant & 1;
    config.channels_last = variant & 2;
    losses_of(&config, brain, STEPS);
    for (int i = 0; i < STEPS; i++)
      cr_assert_lt(fabs(brain[i] - single[i]), 0.05 * single[i], "variant %d step %d: %g, want %g", variant, i,
                   brain[i], single[i]);
  }
}

static bool only_float16(pd_device *device, pd_dtype dtype, pd_layout layout) {
  (void)device;
  (void)layout;
  return dtype != PD_BF16;
}

PD_TEST(train_modes, a_device_of_float16_alone_says_so) {
  train_rig rig;
  train_rig_open(&rig);
  pd_tensor_ops other = *rig.ops.tensor;
  other.supports = only_float16;
  rig.ops.tensor = &other;
  train_config config = train_rig_config();
  config.amp = true;
  config.amp_dtype = "bfloat16";
  cr_assert_eq(train_rig_kit(&rig, &config), PD_UNSUPPORTED);
  cr_assert(strstr(rig.host.message, "set amp_dtype = float16"), "%s", rig.host.message);
  train_rig_close(&rig);
}

/* ---- graphs, on a device whose capture and replay are counted ---- */

struct pd_graph {
  int unused;
};

static struct {
  int begun, ended, launched, destroyed;
  pd_graph graph;
} capture;

static pd_status capture_begin(pd_device *device, pd_stream *stream) {
  (void)device, (void)stream;
  capture.begun++;
  return PD_OK;
}

static pd_status capture_end(pd_device *device, pd_stream *stream, pd_graph **out) {
  (void)device, (void)stream;
  capture.ended++;
  *out = &capture.graph;
  return PD_OK;
}

static pd_status graph_launch(pd_device *device, pd_stream *stream, pd_graph *graph) {
  (void)device, (void)stream;
  cr_assert_eq(graph, &capture.graph);
  capture.launched++;
  return PD_OK;
}

static void graph_destroy(pd_device *device, pd_graph *graph) {
  (void)device;
  cr_assert_eq(graph, &capture.graph);
  capture.destroyed++;
}

static void open_graph_kit(train_rig *rig, pd_stream_ops *streams, train_config config) {
  train_rig_open(rig);
  *streams = *rig->ops.stream;
  streams->capture_begin = capture_begin;
  streams->capture_end = capture_end;
  streams->graph_launch = graph_launch;
  streams->graph_destroy = graph_destroy;
  rig->ops.stream = streams;
  config.cuda_graph = true;
  train_rig_ok(rig, train_rig_kit(rig, &config), "kit");
}

PD_TEST(train_modes, the_first_step_is_captured_and_the_others_are_replays) {
  train_rig rig;
  pd_stream_ops streams;
  open_graph_kit(&rig, &streams, train_rig_config());
  pd_batch batch = train_rig_batch(N, S, 1), small = train_rig_batch(N - 1, S, 1), kept = train_rig_batch(N, S, 2);
  kept.resident = 5;
  step(&rig, &batch);
  cr_assert(capture.begun == 1 && capture.ended == 1 && capture.launched == 0);
  train_rig_trace_begin(&rig);
  train_rig_step_begin(&rig);
  step(&rig, &batch);
  train_rig_step_end(&rig);
  pd_trace *trace = train_rig_trace_end(&rig);
  cr_assert_eq(capture.launched, 1);
  cr_assert_eq(trace_ranges(trace, "graph replay"), 1);
  cr_assert_eq(trace_ranges(trace, "aten::conv2d"), 0);
  cr_assert_eq(trace_calls(trace, PD_API_LAUNCH), 0);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE), 2);
  cr_assert_eq(trace_copies(trace, PD_MEMORY_DEVICE, PD_MEMORY_DEVICE), 1); /* the loss, into its history */
  trace_free(trace);
  /* another shape runs as it is; a resident batch is copied to where the graph reads */
  step(&rig, &small);
  cr_assert_eq(capture.launched, 1);
  step(&rig, &kept);
  cr_assert_eq(capture.launched, 2);
  cr_assert_eq(capture.begun, 1);
  double losses[8];
  uint64_t count;
  train_rig_ok(&rig, train_kit_losses(rig.kit, losses, 8, &count), "losses");
  cr_assert_eq(count, 4);
  train_rig_batch_free(&batch);
  train_rig_batch_free(&small);
  train_rig_batch_free(&kept);
  train_rig_close(&rig);
  cr_assert_eq(capture.destroyed, 1);
}

static int frees;
static pd_status (*device_free)(pd_device *, pd_stream *, pd_allocator, uint64_t, void *);
static pd_status counted_free(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                              void *data) {
  frees += data != NULL;
  return device_free(device, stream, allocator, bytes, data);
}

/* A control step of tiny_ops, without its rounds, runs as it is between replays and deals buffers otherwise. */
PD_TEST(train_modes, what_a_graph_writes_to_stays_when_another_step_outgrows_it) {
  train_rig rig;
  pd_stream_ops streams;
  open_graph_kit(&rig, &streams, train_rig_config());
  device_free = rig.memory.free;
  rig.memory.free = counted_free;
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = 1};
  train_rig_ok(&rig, rig.train->configure(rig.train, &model), "configure");
  pd_batch batch = train_rig_batch(N, S, 1);
  step(&rig, &batch);
  const uint64_t allocations = train_rig_allocations();
  frees = 0;
  for (uint32_t i = 0; i < 4; i++) {
    train_rig_ok(&rig, rig.train->tiny_ops_rounds(rig.train, i % 2 ? 30 : 0), "rounds");
    step(&rig, &batch);
  }
  cr_assert(capture.begun == 1 && capture.launched == 2);
  cr_assert_gt(train_rig_allocations(), allocations, "no buffer was outgrown: nothing is tested here");
  cr_assert_eq(frees, 0);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

static int warnings;
static char last_warning[160];
PD_PRINTF(3, 4) static void keep_warning(const pd_host *host, pd_log_level level, const char *format, ...) {
  (void)host;
  if (level != PD_LOG_WARN) return; /* a device may tell which algorithms it chose */
  va_list args;
  va_start(args, format);
  vsnprintf(last_warning, sizeof last_warning, format, args);
  va_end(args);
  warnings++;
}

PD_TEST(train_modes, a_scenario_that_calls_the_parts_is_told_once_that_it_has_no_graph) {
  train_rig rig;
  pd_stream_ops streams;
  open_graph_kit(&rig, &streams, train_rig_config());
  rig.host.host.log = keep_warning;
  pd_batch batch = train_rig_batch(N, S, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  step(&rig, &batch);
  step(&rig, &batch);
  cr_assert(capture.launched == 1 && warnings == 0);
  for (int i = 0; i < 2; i++) {
    train_rig_ok(&rig, rig.train->to_device(rig.train, &at, NULL), "to_device");
    train_rig_ok(&rig, rig.train->zero_grad(rig.train), "zero_grad");
    train_rig_ok(&rig, rig.train->forward(rig.train), "forward");
    train_rig_ok(&rig, rig.train->backward(rig.train), "backward");
    train_rig_ok(&rig, rig.train->optimizer_step(rig.train), "optimizer_step");
  }
  cr_assert(capture.launched == 1 && warnings == 1);
  cr_assert_not_null(strstr(last_warning, "[train] cuda_graph = true: this scenario calls the parts of the step"));
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

PD_TEST(train_modes, a_graph_cannot_hold_the_scalers_read) {
  train_rig rig;
  train_rig_open(&rig);
  pd_stream_ops streams = *rig.ops.stream;
  streams.capture_begin = capture_begin;
  streams.capture_end = capture_end;
  streams.graph_launch = graph_launch;
  streams.graph_destroy = graph_destroy;
  rig.ops.stream = &streams;
  train_config config = train_rig_config();
  config.cuda_graph = config.amp = true;
  const bool half = rig.ops.tensor->supports(rig.access.device, PD_F16, PD_NCHW);
  cr_assert_eq(train_rig_kit(&rig, &config), half ? PD_INVALID : PD_UNSUPPORTED);
  cr_assert(strstr(rig.host.message, half ? "set scaler_sync = false" : "[train] amp"), "%s", rig.host.message);
  train_rig_close(&rig);
}

/* A real capture, where the device has one: the replayed losses are those of the plain run. */
PD_TEST(train_modes, replays_train_as_plain_steps_do) {
  train_rig rig;
  train_rig_open(&rig);
  const bool captures = rig.ops.stream->capture_begin != NULL;
  train_rig_close(&rig);
  if (!captures) cr_skip_test("this device has no graphs"); /* refused: cuda_graph_needs_capture */
  enum { STEPS = 10 };
  double plain[STEPS], graph[STEPS];
  train_config config = train_rig_config();
  losses_of(&config, plain, STEPS);
  config.cuda_graph = true;
  losses_of(&config, graph, STEPS);
  for (int i = 0; i < STEPS; i++) cr_assert_lt(fabs(graph[i] - plain[i]), 1e-4 * plain[i]);
}
