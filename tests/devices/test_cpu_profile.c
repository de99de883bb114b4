/* What the CPU device tells of itself and of its work: properties, and one runtime and one device record a launch. */
#include "op_suite.h"
#include "pd_test.h"

#include <stdlib.h>

static device_rig rig;
static void open_rig(void) { rig_open(&rig); }
#define PROFILE_TEST(name) PD_TEST_WITH(cpu_profile, name, .init = open_rig, .timeout = 60)

static void start(bool memory) {
  const pd_profile_options options = {.size = sizeof options, .profile_memory = memory, .sync = 1};
  rig_ok(&rig, rig.ops->profile->attach(rig.device, &options), "attach");
  rig_ok(&rig, rig.ops->profile->start(rig.device), "start");
}
static void stop(void) {
  rig_ok(&rig, rig.ops->profile->stop(rig.device), "stop");
  rig_ok(&rig, rig.ops->profile->drain(rig.device, INT64_C(30000000000)), "drain");
}
static bool on_device(const pd_activity *a) { return a->kind != PD_ACTIVITY_RUNTIME; }
static const char *name_of(const pd_activity *a) { return a->name ? rig.names[a->name - 1] : ""; }

/* The device record of a call: exactly one where it launches, none where it does not. */
static const pd_activity *record_of(const pd_activity *call) {
  const pd_activity *found = NULL;
  for (uint64_t i = 0; i < rig.activity_count; i++) {
    const pd_activity *a = &rig.activities[i];
    if (a == call || a->correlation != call->correlation) continue;
    cr_assert(on_device(a), "two calls with correlation %llu", (unsigned long long)a->correlation);
    cr_assert_null(found, "two device records of one call");
    found = a;
  }
  const bool launches = call->u.api.api >= PD_API_LAUNCH && call->u.api.api <= PD_API_MEMSET;
  cr_assert_eq(found != NULL, launches, "%s: %s device record", name_of(call), found ? "a" : "no");
  return found;
}

/* Asserts that all records are in pairs, and counts the launches. */
static uint64_t pairs(void) {
  uint64_t launches = 0, devices = 0;
  for (uint64_t i = 0; i < rig.activity_count; i++) {
    const pd_activity *a = &rig.activities[i];
    cr_assert_leq(a->start, a->end);
    cr_assert_neq(a->correlation, 0u);
    if (on_device(a)) {
      devices++;
      continue;
    }
    const pd_activity *done = record_of(a);
    if (!done) continue;
    launches++;
    cr_assert_neq(a->thread, 0u);
    cr_assert_eq(done->thread, 0u);
    cr_assert_geq(done->start, a->start, "%s ran before its launch", name_of(done));
  }
  cr_assert_eq(devices, launches, "%llu device records, %llu launches", (unsigned long long)devices,
               (unsigned long long)launches);
  return launches;
}

/* Record number `i` of those on the device, in the stream's order. */
static const pd_activity *device_record(uint64_t i) {
  for (uint64_t k = 0; k < rig.activity_count; k++)
    if (on_device(&rig.activities[k]) && i-- == 0) return &rig.activities[k];
  cr_assert_fail("no such record");
  return NULL;
}

PROFILE_TEST(each_operation_is_one_launch_and_one_kernel_under_its_name) {
  const pd_tensor_ops *t = rig.ops->tensor;
  pd_device *d = rig.device;
  pd_stream *s = rig.stream;
  const pd_conv2d conv = {.size = sizeof conv, .stride = 2, .padding = 1};
  operand image = INPUT(&rig, OPERAND_F32, 1, 2, 4, 4), w = INPUT(&rig, OPERAND_F32, 3, 2, 3, 3);
  operand y = OUTPUT(&rig, OPERAND_F32, 1, 3, 2, 2), bias = INPUT(&rig, OPERAND_F32, 3);
  operand a = INPUT(&rig, OPERAND_F32, 3, 3), b = INPUT(&rig, OPERAND_F32, 3, 3), one = operand_number(&rig, 0);
  operand v = INPUT(&rig, OPERAND_F32, 3), u = INPUT(&rig, OPERAND_F32, 3);
  operand good = operand_output(&rig, PD_I32, PD_NCHW, 1, &(const int64_t){1});
  operand step = operand_output(&rig, PD_I64, PD_NCHW, 1, &(const int64_t){1});
  operand labels = operand_output(&rig, PD_I64, PD_NCHW, 1, &(const int64_t){3});
  operand_set(&rig, &labels, labels.v);
  operand_set(&rig, &step, step.v);
  operand_set(&rig, &good, good.v);
  const pd_parameter list[2] = {{.value = v.t.data, .grad = u.t.data, .m = bias.t.data, .v = bias.t.data, .count = 3},
                                {.value = a.t.data, .grad = b.t.data, .m = a.t.data, .v = a.t.data, .count = 9}};
  const pd_scaler scaler = {.scale = v.t.data, .found_inf = one.t.data, .good_steps = good.t.data, .interval = 9};
  const pd_adamw adamw = {.size = sizeof adamw, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.9, .eps = 1, .step = step.t.data};
  cr_assert_eq(rig.activity_count, 0, "nothing is recorded before start");
  start(false);
  pd_status all = PD_OK;
  all |= t->fill(d, s, &a.t, 1.5);
  all |= t->randn(d, s, &a.t, 1, 2);
  all |= t->convert(d, s, &a.t, &b.t);
  all |= t->elementwise(d, s, PD_EW_ADD, &a.t, &a.t, &b.t, 1);
  all |= t->elementwise(d, s, PD_EW_SIGMOID, &a.t, &a.t, NULL, 1);
  all |= t->mean(d, s, &one.t, &a.t);
  all |= t->copy_columns(d, s, &a.t, 0, &b.t, 1, 2);
  all |= t->conv2d_forward(d, s, &y.t, &image.t, &w.t, &bias.t, true, &conv);
  all |= t->conv2d_backward_data(d, s, &image.t, &y.t, &w.t, &conv);
  all |= t->conv2d_backward_weight(d, s, &w.t, &y.t, &image.t, &conv);
  all |= t->bias_forward(d, s, &y.t, &y.t, &bias.t);
  all |= t->bias_backward(d, s, &bias.t, &y.t, false);
  all |= t->bias_relu_backward(d, s, &y.t, &bias.t, &y.t, &y.t);
  all |= t->matmul(d, s, &a.t, &b.t, &b.t, &v.t, false, true, false, true);
  all |= t->layer_norm_forward(d, s, &a.t, &v.t, &u.t, &b.t, &bias.t, &bias.t, 1e-5);
  all |= t->tiny_round_forward(d, s, &a.t, &v.t, &u.t, &b.t, &bias.t, &bias.t, 1e-5);
  all |= t->cross_entropy_forward(d, s, &one.t, &a.t, &b.t, &labels.t);
  all |= t->cross_entropy_backward(d, s, &b.t, &a.t, &labels.t, NULL);
  all |= t->unscale(d, s, list, 2, &scaler);
  all |= t->adamw(d, s, list, 2, &adamw);
  all |= t->scaler_update(d, s, &scaler);
  rig_ok(&rig, all, "an operation");
  stop();
  static const char *const names[] = {"fill",
                                      "randn",
                                      "convert",
                                      "add",
                                      "sigmoid",
                                      "mean",
                                      "copy_columns",
                                      "dnnl_conv2d_forward",
                                      "dnnl_conv2d_backward_data",
                                      "dnnl_conv2d_backward_weight",
                                      "bias_forward",
                                      "bias_backward",
                                      "bias_relu_backward",
                                      "dnnl_sgemm",
                                      "layer_norm_forward",
                                      "tiny_round_forward",
                                      "cross_entropy_forward",
                                      "cross_entropy_backward",
                                      "unscale",
                                      "adamw",
                                      "scaler_update"};
  const uint64_t count = sizeof names / sizeof names[0];
  cr_assert_eq(pairs(), count);
  cr_assert_eq(rig.activity_count, 2 * count);
  for (uint64_t i = 0; i < count; i++) {
    const pd_activity *a_kernel = device_record(i);
    cr_assert_eq(a_kernel->kind, PD_ACTIVITY_KERNEL);
    cr_assert_str_eq(name_of(a_kernel), names[i]);
    cr_assert_eq(a_kernel->u.kernel.grid[0] + a_kernel->u.kernel.block[0] + a_kernel->u.kernel.registers, 0u);
    cr_assert_lt(a_kernel->u.kernel.occupancy, 0.0f);
    cr_assert_lt(a_kernel->u.kernel.waves, 0.0f);
    if (i) cr_assert_geq(a_kernel->start, device_record(i - 1)->end, "one after the other");
  }
  for (uint64_t i = 0; i < rig.activity_count; i++)
    if (!on_device(&rig.activities[i])) cr_assert_str_eq(name_of(&rig.activities[i]), "pdLaunchKernel");
  rig_sync(&rig);
  OPERANDS_FREE(&rig, &image, &w, &y, &bias, &a, &b, &one, &v, &u, &good, &step, &labels);
  rig_close(&rig);
}

/* Launched before stop, run after it: drain waits for the record. Launched after stop: none. */
PROFILE_TEST(the_launch_decides_the_window) {
  operand x = OUTPUT(&rig, OPERAND_F32, 2000000), y = OUTPUT(&rig, OPERAND_F32, 1);
  start(false);
  rig_ok(&rig, rig.ops->tensor->randn(rig.device, rig.stream, &x.t, 1, 0), "randn");
  for (int i = 0; i < 100; i++) rig_ok(&rig, rig.ops->tensor->fill(rig.device, rig.stream, &y.t, i + 1), "fill");
  rig_ok(&rig, rig.ops->profile->stop(rig.device), "stop");
  for (int i = 0; i < 10; i++) rig_ok(&rig, rig.ops->tensor->fill(rig.device, rig.stream, &y.t, i + 1), "fill");
  rig_ok(&rig, rig.ops->profile->drain(rig.device, INT64_C(30000000000)), "drain");
  cr_assert_eq(pairs(), 101u);
  rig_sync(&rig);
  cr_assert_eq(pairs(), 101u);
  start(false); /* a second window: new correlation ids */
  rig_ok(&rig, rig.ops->tensor->fill(rig.device, rig.stream, &y.t, 1), "fill");
  stop();
  cr_assert_eq(pairs(), 102u);
  rig_ok(&rig, rig.ops->profile->detach(rig.device), "detach");
  OPERANDS_FREE(&rig, &x, &y);
  rig_close(&rig);
}

PROFILE_TEST(a_drain_may_run_out_of_time) {
  operand x = OUTPUT(&rig, OPERAND_F32, 4000000);
  start(false);
  rig_ok(&rig, rig.ops->tensor->randn(rig.device, rig.stream, &x.t, 1, 0), "randn");
  rig_ok(&rig, rig.ops->profile->stop(rig.device), "stop");
  rig_ok(&rig, rig.ops->profile->drain(rig.device, 1), "drain");
  cr_assert_eq(rig.activity_count, 1, "the launch alone");
  rig_ok(&rig, rig.ops->profile->drain(rig.device, INT64_C(30000000000)), "drain");
  cr_assert_eq(pairs(), 1u);
  operand_free(&rig, &x);
  rig_close(&rig);
}

PROFILE_TEST(copies_and_sets_name_their_ends_and_bytes) {
  float plain[64] = {0};
  void *pinned;
  operand x = OUTPUT(&rig, OPERAND_F32, 64), y = OUTPUT(&rig, OPERAND_F32, 64);
  const pd_memory_ops *m = rig.ops->memory;
  pd_device *d = rig.device;
  pd_stream *s = rig.stream;
  rig_ok(&rig, m->host_alloc(d, 256, &pinned), "host_alloc");
  memset(pinned, 0, 256);
  start(false);
  pd_status all = m->copy(d, s, x.t.data, plain, 256, PD_COPY_HOST_TO_DEVICE);
  all |= m->copy(d, s, x.t.data, pinned, 128, PD_COPY_HOST_TO_DEVICE);
  all |= m->copy(d, s, y.t.data, x.t.data, 64, PD_COPY_DEVICE_TO_DEVICE);
  all |= m->copy(d, s, plain, x.t.data, 32, PD_COPY_DEVICE_TO_HOST);
  all |= m->copy(d, s, pinned, x.t.data, 16, PD_COPY_DEVICE_TO_HOST);
  all |= rig.ops->tensor->fill(d, s, &x.t, 0);
  rig_ok(&rig, all, "a copy");
  stop();
  static const struct {
    pd_memory_kind from, to;
    uint64_t bytes;
  } ends[] = {{PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 256}, {PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 128},
              {PD_MEMORY_DEVICE, PD_MEMORY_DEVICE, 64},    {PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE, 32},
              {PD_MEMORY_DEVICE, PD_MEMORY_PINNED, 16},    {PD_MEMORY_UNKNOWN, PD_MEMORY_DEVICE, 256}};
  cr_assert_eq(pairs(), 6u);
  for (uint64_t i = 0; i < 6; i++) {
    const pd_activity *a = device_record(i);
    cr_assert_eq(a->kind, i < 5 ? PD_ACTIVITY_MEMCPY : PD_ACTIVITY_MEMSET);
    cr_assert_eq(a->u.copy.from, ends[i].from);
    cr_assert_eq(a->u.copy.to, ends[i].to);
    cr_assert_eq(a->bytes, ends[i].bytes);
  }
  uint64_t sets = 0, copies = 0;
  for (uint64_t i = 0; i < rig.activity_count; i++) {
    if (on_device(&rig.activities[i])) continue;
    copies += strcmp(name_of(&rig.activities[i]), "pdMemcpyAsync") == 0;
    sets += strcmp(name_of(&rig.activities[i]), "pdMemsetAsync") == 0;
  }
  cr_assert_eq(copies, 5u);
  cr_assert_eq(sets, 1u);
  rig_ok(&rig, m->host_free(d, 256, pinned), "host_free");
  OPERANDS_FREE(&rig, &x, &y);
  rig_close(&rig);
}

static void expect_calls(const char *const *names, const pd_api_class *classes, uint64_t count) {
  cr_assert_eq(rig.activity_count, count, "%llu records", (unsigned long long)rig.activity_count);
  for (uint64_t i = 0; i < count; i++) {
    cr_assert_str_eq(name_of(&rig.activities[i]), names[i]);
    cr_assert_eq(rig.activities[i].u.api.api, classes[i]);
    cr_assert_null(record_of(&rig.activities[i]));
  }
}

PROFILE_TEST(waits_and_allocations_leave_runtime_records_and_events_of_memory_where_asked) {
  static const char *const names[] = {
      "pdStreamSynchronize", "pdDeviceSynchronize", "pdEventSynchronize", "pdMalloc", "pdFree",
      "pdMallocHost",        "pdFreeHost"};
  static const pd_api_class classes[] = {PD_API_SYNC, PD_API_SYNC,  PD_API_SYNC, PD_API_ALLOC,
                                         PD_API_FREE, PD_API_ALLOC, PD_API_FREE};
  for (int memory = 0; memory < 2; memory++) {
    void *data;
    pd_event *event;
    rig_ok(&rig, rig.ops->stream->event_create(rig.device, &event), "event");
    rig.activity_count = rig.memory_count = 0;
    rig.enabled = 1;
    start(memory);
    rig_sync(&rig);
    rig_ok(&rig, rig.ops->stream->device_synchronize(rig.device), "device_synchronize");
    rig_ok(&rig, rig.ops->stream->event_synchronize(rig.device, event), "event_synchronize");
    rig_ok(&rig, rig.ops->memory->alloc(rig.device, rig.stream, PD_ALLOCATOR_RAW, 9, &data), "alloc");
    rig_ok(&rig, rig.ops->memory->free(rig.device, rig.stream, PD_ALLOCATOR_RAW, 9, data), "free");
    rig_ok(&rig, rig.ops->memory->host_alloc(rig.device, 9, &data), "host_alloc");
    rig_ok(&rig, rig.ops->memory->host_free(rig.device, 9, data), "host_free");
    stop();
    rig.enabled = 0;
    expect_calls(names, classes, 7);
    cr_assert_eq(rig.memory_count, memory ? 4 : 0);
    rig.ops->stream->event_destroy(rig.device, event);
  }
  rig_close(&rig);
}

PROFILE_TEST(properties_and_status_say_what_it_is) {
  pd_device_props props = {.size = sizeof props};
  rig_ok(&rig, rig.ops->props(rig.device, &props), "props");
  cr_assert(strncmp(props.name, "CPU (oneDNN ", 12) == 0, "%s", props.name);
  cr_assert(strstr(props.versions, "oneDNN "), "%s", props.versions);
  cr_assert_gt(props.total_bytes, UINT64_C(1) << 26);
  cr_assert_eq(props.is_cuda + props.index + props.sm_count + props.max_threads_per_sm, 0u);
  /* A reader of an older header: nothing is written past its end. */
  pd_device_props old = {.size = (uint32_t)offsetof(pd_device_props, total_bytes), .total_bytes = 77};
  rig_ok(&rig, rig.ops->props(rig.device, &old), "props");
  cr_assert_eq(old.total_bytes, 77u);
  cr_assert_str_eq(old.name, props.name);
  pd_profile_status status = {.size = sizeof status};
  rig_ok(&rig, rig.ops->profile->status(rig.device, &status), "status");
  cr_assert_eq(status.mode, PD_PROFILE_FULL);
  cr_assert_null(status.note);
  pd_device *second = NULL;
  cr_assert_eq(rig.ops->open(&rig.host.host, rig.options, 1, &second), PD_UNSUPPORTED);
  cr_assert_null(second);
  rig_close(&rig);
}

/* A host without a recorder: everything works, nothing is told. */
PROFILE_TEST(no_recorder_is_no_failure) {
  pd_device *mute = NULL;
  pd_stream *stream;
  float number = 0;
  void *data;
  pd_profile_status status = {.size = sizeof status};
  rig.host.extension_count = 0;
  rig_ok(&rig, rig.ops->open(&rig.host.host, rig.options, 0, &mute), "open");
  rig_ok(&rig, rig.ops->profile->start(mute), "start");
  rig_ok(&rig, rig.ops->stream->create(mute, &stream), "stream");
  rig_ok(&rig, rig.ops->memory->alloc(mute, stream, PD_ALLOCATOR_POOL, 4, &data), "alloc");
  const pd_tensor y = {.data = data, .shape = {1}, .rank = 1, .dtype = PD_F32};
  rig_ok(&rig, rig.ops->tensor->fill(mute, stream, &y, 3), "fill");
  rig_ok(&rig, rig.ops->memory->copy(mute, stream, &number, data, 4, PD_COPY_DEVICE_TO_HOST), "copy");
  cr_assert_eq(number, 3.0f);
  rig_ok(&rig, rig.ops->memory->free(mute, stream, PD_ALLOCATOR_POOL, 4, data), "free");
  rig_ok(&rig, rig.ops->profile->drain(mute, 1), "drain");
  rig_ok(&rig, rig.ops->profile->status(mute, &status), "status");
  cr_assert_eq(status.mode, PD_PROFILE_NONE);
  cr_assert_str_eq(status.note, "the host has no recorder");
  rig.ops->close(mute); /* the stream goes, too */
  rig_close(&rig);
}
