/* See train_rig.h. */
#include "train_rig.h"

#include "plugin_file.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* The device's functions carry no user pointer: one rig at a time. */
static pd_status (*device_alloc)(pd_device *, pd_stream *, pd_allocator, uint64_t, void **);
static uint64_t allocations, fail_from;

static pd_status counted_alloc(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                               void **out) {
  *out = NULL;
  allocations++;
  if (fail_from && allocations >= fail_from) return PD_NO_MEMORY;
  return device_alloc(device, stream, allocator, bytes, out);
}

void train_rig_fail_allocation(uint64_t n) { fail_from = n ? allocations + n : 0; }
uint64_t train_rig_allocations(void) { return allocations; }

void train_rig_ok(train_rig *rig, pd_status status, const char *what) {
  cr_assert_eq(status, PD_OK, "%s: status %d: %s", what, status, rig->host.message);
}

void train_rig_open(train_rig *rig) {
  memset(rig, 0, sizeof *rig);
  allocations = fail_from = 0;
  test_host_init(&rig->host);
  const recorder_options options = {.max_bytes = 256u << 20, .record_shapes = true, .profile_memory = true};
  train_rig_ok(rig, recorder_open(&options, &rig->recorder), "recorder");
  rig->record = recorder_table(rig->recorder);
  test_host_add(&rig->host, PD_EXT_RECORD, rig->record);
  const char *path = getenv("PDHOST_TEST_DEVICE");
  if (!path || !*path) path = PDHOST_CPU_DEVICE;
  rig->plugin = plugin_file_open(path);
  rig->options = plugin_file_options(rig->plugin);
  rig->ops = *rig->plugin->ops.device;
  rig->memory = *rig->ops.memory;
  device_alloc = rig->memory.alloc;
  rig->memory.alloc = counted_alloc;
  rig->ops.memory = &rig->memory;
  rig->access = (pd_device_access){.size = sizeof rig->access, .ops = &rig->ops};
  train_rig_ok(rig, rig->ops.open(&rig->host.host, rig->options, 0, &rig->access.device), "open");
  train_rig_ok(rig, rig->ops.stream->create(rig->access.device, &rig->access.stream), "stream");
  rig->props.size = sizeof rig->props;
  train_rig_ok(rig, rig->ops.props(rig->access.device, &rig->props), "props");
}

void train_rig_close(train_rig *rig) {
  train_kit_close(rig->kit);
  if (rig->attached) (void)rig->ops.profile->detach(rig->access.device);
  rig->ops.stream->destroy(rig->access.device, rig->access.stream);
  rig->ops.close(rig->access.device);
  recorder_close(rig->recorder);
  free(rig->options);
}

train_context train_rig_context(const train_rig *rig) {
  train_context context = {.host = &rig->host.host,
                           .record = rig->record,
                           .device = rig->access.device,
                           .stream = rig->access.stream,
                           .memory = rig->ops.memory,
                           .streams = rig->ops.stream,
                           .dtype = PD_F32,
                           .layout = PD_NCHW};
  const pd_tensor_ops *t = rig->ops.tensor;
  memcpy(&context.t, t, t->size < sizeof context.t ? t->size : sizeof context.t);
  return context;
}

train_config train_rig_config(void) {
  return (train_config){.model = "cnn",
                        .lr = 1e-3,
                        .fused = true,
                        .scaler_sync = true,
                        .with_flops = true,
                        .seed = 1,
                        .batch_size = 4,
                        .image_size = 32};
}

pd_status train_rig_kit(train_rig *rig, const train_config *config) {
  const pd_status status = train_kit_open(&rig->host.host, &rig->access, rig->record, config, &rig->kit);
  if (status == PD_OK) rig->train = train_kit_table(rig->kit);
  return status;
}

bool train_rig_same(const void *a, const void *b, size_t bytes) { return memcmp(a, b, bytes) == 0; }

void *train_rig_writable(const void *data) {
  void *writable;
  memcpy(&writable, &data, sizeof data);
  return writable;
}

pd_batch train_rig_batch(int64_t count, int64_t size, uint64_t seed) {
  const int64_t pixels = count * 3 * size * size;
  float *images = malloc((size_t)pixels * sizeof *images);
  int64_t *labels = malloc((size_t)count * sizeof *labels);
  cr_assert(images && labels);
  uint64_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < pixels; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    images[i] = (float)((double)(state >> 11) * 0x1p-52 - 1.0);
  }
  for (int64_t i = 0; i < count; i++) labels[i] = (i * 37 + (int64_t)seed) % 1000;
  return (pd_batch){.size = sizeof(pd_batch),
                    .count = count,
                    .channels = 3,
                    .height = size,
                    .width = size,
                    .images = images,
                    .labels = labels};
}

void train_rig_batch_free(pd_batch *batch) {
  free(train_rig_writable(batch->images));
  free(train_rig_writable(batch->labels));
}

/* ---- windows ---- */

void train_rig_trace_begin(train_rig *rig) {
  const pd_profile_ops *profile = rig->ops.profile;
  if (!rig->attached) {
    const pd_profile_options options = {.size = sizeof options, .profile_memory = 1, .graphs = 1, .sync = 1};
    train_rig_ok(rig, profile->attach(rig->access.device, &options), "attach");
    rig->attached = true;
  }
  train_rig_ok(rig, rig->ops.stream->device_synchronize(rig->access.device), "synchronize");
  train_rig_ok(rig, profile->start(rig->access.device), "start");
  recorder_enable(rig->recorder, true);
  train_rig_ok(rig, recorder_window_begin(rig->recorder, 0), "window");
  rig->step_count = 0;
}

void train_rig_step_begin(train_rig *rig) {
  static pd_site site = PD_SITE("train_step", PD_RANGE_USER);
  if (!rig->step_count) rig->previous_end_ticks = rig->record->ticks(rig->record);
  (void)pd_range_begin(rig->record, &site, NULL);
}

void train_rig_step_end(train_rig *rig) {
  rig->record->end(rig->record);
  train_rig_ok(rig, rig->ops.stream->device_synchronize(rig->access.device), "synchronize");
  const uint64_t now = rig->record->ticks(rig->record);
  const recorder_step step = {.number = rig->step_count++,
                              .start_ticks = rig->previous_end_ticks,
                              .end_ticks = now,
                              .train_start_ticks = rig->previous_end_ticks,
                              .train_end_ticks = now,
                              .step_time_ns = 1};
  train_rig_ok(rig, recorder_step_done(rig->recorder, &step), "step");
  rig->previous_end_ticks = now;
}

pd_trace *train_rig_trace_end(train_rig *rig) {
  train_rig_ok(rig, rig->ops.profile->stop(rig->access.device), "stop");
  recorder_enable(rig->recorder, false);
  train_rig_ok(rig, rig->ops.profile->drain(rig->access.device, 10000000000), "drain");
  const recorder_window window = {.profile = PD_PROFILE_FULL, .sync_timing = true, .device = &rig->props};
  pd_trace *trace = NULL;
  train_rig_ok(rig, recorder_window_end(rig->recorder, &window, &trace), "trace");
  bool launched = false; /* operations that only take memory launch nothing, and have no coverage */
  for (uint64_t i = 0; i < trace->steps.count; i++) launched |= PD_AT(pd_trace_step, &trace->steps, i)->launches > 0;
  if (launched) cr_assert_eq(pd_trace_coverage(trace), 1.0);
  for (uint32_t i = 0; i < PD_LOSS_COUNT; i++) cr_assert_eq(trace->losses[i], 0, "loss %u: %lu", i, trace->losses[i]);
  return trace;
}

/* ---- counts ---- */

static bool named(const pd_trace *trace, uint32_t id, const char *name) {
  return strcmp(pd_trace_string(trace, id)->text, name) == 0;
}

uint64_t trace_ranges(const pd_trace *trace, const char *name) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++)
    count += named(trace, PD_AT(pd_range, &trace->ranges, i)->name, name);
  return count;
}

const pd_range *trace_range(const pd_trace *trace, const char *name, uint64_t nth) {
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (named(trace, range->name, name) && nth-- == 0) return range;
  }
  cr_assert(false, "no range %s", name);
  return NULL;
}

uint64_t trace_calls(const pd_trace *trace, pd_api_class api) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    count += call->api == api && call->step != PD_NONE;
  }
  return count;
}

uint64_t trace_kernels(const pd_trace *trace) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++)
    count += PD_AT(pd_device_row, &trace->activities, i)->detail.kind == PD_ACTIVITY_KERNEL;
  return count;
}

uint64_t trace_copies(const pd_trace *trace, pd_memory_kind from, pd_memory_kind to) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_activity *row = &PD_AT(pd_device_row, &trace->activities, i)->detail;
    count += row->kind == PD_ACTIVITY_MEMCPY && row->u.copy.from == from && row->u.copy.to == to;
  }
  return count;
}

uint64_t trace_allocations(const pd_trace *trace, int64_t bytes) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_event *event = &PD_AT(pd_memory_row, &trace->memory, i)->event;
    count += event->device_type == 1 && event->bytes >= bytes && event->bytes > 0;
  }
  return count;
}
