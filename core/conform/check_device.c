/* Conformance checks of devices. What every device must have is checked when it is loaded; here it is opened and used,
 * or says why this machine has none. See check_list.h; the operation suite is tests/devices. */
#include "check_failures.h"
#include "check_process.h"
#include "check_trace.h"
#include "trace/recorder.h"

#include <pdhost/loss_names.h>

#include <string.h>

enum { COUNT = 1000 };

/* Opens with `options`, calls `body`, closes; then nothing may be left. */
static check_verdict opened(const check_target *target, const void *options,
                            check_verdict (*body)(const pd_device_ops *, pd_device *, check_host *)) {
  const pd_device_ops *ops = target->table->ops.device;
  check_host host;
  check_host_init(&host);
  pd_device *device = NULL;
  const pd_status status = ops->open(&host.table, options, 0, &device);
  if (status != PD_OK && device) return check_verdict_of(CHECK_FAILED, "open failed and set *device all the same");
  if (status != PD_OK && !host.message[0])
    return check_verdict_of(CHECK_FAILED, "open returned %d without a message by host->fail", status);
  if (status == PD_UNSUPPORTED) return check_verdict_of(CHECK_SKIPPED, "%s", host.message);
  if (status != PD_OK) return check_verdict_of(CHECK_FAILED, "open returned %d: %s", status, host.message);
  check_verdict verdict = body ? body(ops, device, &host) : check_ok();
  ops->close(device);
  return verdict;
}

static check_verdict with_defaults(const check_target *target,
                                   check_verdict (*body)(const pd_device_ops *, pd_device *, check_host *)) {
  void *options = check_options(target, NULL, NULL);
  if (!options) return check_verdict_of(CHECK_BROKEN, "out of memory");
  /* Libraries behind a device keep threads of their own for the process: the second life may add none. */
  check_verdict verdict = opened(target, options, body);
  const uint32_t threads = check_thread_count();
  if (verdict.outcome == CHECK_OK) verdict = opened(target, options, body);
  free(options);
  return verdict.outcome == CHECK_OK ? check_threads_gone(threads) : verdict;
}

#define REQUIRE(call)                                                                                                  \
  do {                                                                                                                 \
    const pd_status status_ = (call);                                                                                  \
    if (status_ != PD_OK)                                                                                              \
      return check_verdict_of(CHECK_FAILED, "%.60s returned %d: %s", #call, status_,                                   \
                              host->message[0] ? host->message : "no message");                                        \
  } while (0)

static check_verdict use_props(const pd_device_ops *ops, pd_device *device, check_host *host) {
  pd_device_props props = {.size = sizeof props};
  REQUIRE(ops->props(device, &props));
  if (!props.name || !props.name[0] || !props.versions)
    return check_verdict_of(CHECK_FAILED, "props gives no name or no versions");
  /* A reader of an older ABI has a shorter struct. */
  pd_device_props shorter;
  memset(&shorter, 0x5a, sizeof shorter);
  shorter.size = offsetof(pd_device_props, total_bytes);
  REQUIRE(ops->props(device, &shorter));
  const unsigned char *beyond = (const unsigned char *)&shorter + offsetof(pd_device_props, total_bytes);
  for (size_t i = 0; i < sizeof shorter - offsetof(pd_device_props, total_bytes); i++)
    if (beyond[i] != 0x5a) return check_verdict_of(CHECK_FAILED, "props wrote beyond the size the reader set");
  return check_ok();
}

static check_verdict use_memory(const pd_device_ops *ops, pd_device *device, check_host *host) {
  static const pd_allocator allocators[] = {PD_ALLOCATOR_POOL, PD_ALLOCATOR_RAW};
  pd_stream *stream = NULL;
  REQUIRE(ops->stream->create(device, &stream));
  for (int i = 0; i < 2; i++) {
    void *data = &data;
    REQUIRE(ops->memory->alloc(device, stream, allocators[i], 0, &data));
    if (data) return check_verdict_of(CHECK_FAILED, "alloc of 0 bytes gives memory");
    REQUIRE(ops->memory->free(device, stream, allocators[i], 0, NULL));
    REQUIRE(ops->memory->alloc(device, stream, allocators[i], COUNT, &data));
    if ((uintptr_t)data % 256)
      return check_verdict_of(CHECK_FAILED, "alloc gives memory that is not aligned to 256 bytes");
    REQUIRE(ops->memory->free(device, stream, allocators[i], COUNT, data));
  }
  uint64_t allocated, reserved, peak;
  REQUIRE(ops->stream->synchronize(device, stream));
  REQUIRE(ops->memory->usage(device, &allocated, &reserved, &peak));
  ops->stream->destroy(device, stream);
  return check_ok();
}

static check_verdict too_much_memory(const pd_device_ops *ops, pd_device *device, check_host *host) {
  pd_stream *stream = NULL;
  void *data = NULL;
  REQUIRE(ops->stream->create(device, &stream));
  const pd_status status = ops->memory->alloc(device, stream, PD_ALLOCATOR_POOL, UINT64_C(1) << 60, &data);
  if (status != PD_NO_MEMORY)
    return check_verdict_of(CHECK_FAILED, "alloc of 2^60 bytes returned %d, not PD_NO_MEMORY", status);
  if (!host->message[0]) return check_verdict_of(CHECK_FAILED, "alloc failed without a message");
  REQUIRE(ops->memory->alloc(device, stream, PD_ALLOCATOR_POOL, COUNT, &data));
  REQUIRE(ops->memory->free(device, stream, PD_ALLOCATOR_POOL, COUNT, data));
  REQUIRE(ops->stream->synchronize(device, stream));
  ops->stream->destroy(device, stream);
  return check_ok();
}

/* fill, scale, mean, read back: 2 * 1.5 exactly. */
static check_verdict compute(const pd_device_ops *ops, pd_device *device, check_host *host) {
  pd_stream *stream = NULL;
  void *x = NULL, *y = NULL;
  float mean = 0;
  REQUIRE(ops->stream->create(device, &stream));
  REQUIRE(ops->memory->alloc(device, stream, PD_ALLOCATOR_POOL, COUNT * sizeof(float), &x));
  REQUIRE(ops->memory->alloc(device, stream, PD_ALLOCATOR_POOL, sizeof(float), &y));
  const pd_tensor input = {.data = x, .shape = {COUNT}, .rank = 1, .dtype = PD_F32};
  const pd_tensor output = {.data = y, .shape = {1}, .rank = 1, .dtype = PD_F32};
  REQUIRE(ops->tensor->fill(device, stream, &input, 1.5));
  REQUIRE(ops->tensor->elementwise(device, stream, PD_EW_SCALE, &input, &input, NULL, 2.0));
  REQUIRE(ops->tensor->mean(device, stream, &output, &input));
  REQUIRE(ops->memory->copy(device, stream, &mean, y, sizeof mean, PD_COPY_DEVICE_TO_HOST));
  REQUIRE(ops->stream->synchronize(device, stream));
  REQUIRE(ops->memory->free(device, stream, PD_ALLOCATOR_POOL, sizeof(float), y));
  REQUIRE(ops->memory->free(device, stream, PD_ALLOCATOR_POOL, COUNT * sizeof(float), x));
  REQUIRE(ops->stream->synchronize(device, stream));
  ops->stream->destroy(device, stream);
  return fabsf(mean - 3.0F) < 1e-5F ? check_ok()
                                    : check_verdict_of(CHECK_FAILED, "the mean of 1000 times 3 is %g", (double)mean);
}

static check_verdict profile(const pd_device_ops *ops, pd_device *device, check_host *host) {
  const pd_profile_options options = {.size = sizeof options, .profile_memory = 1, .sync = 1};
  pd_profile_status about = {.size = sizeof about};
  REQUIRE(ops->profile->attach(device, &options));
  REQUIRE(ops->profile->start(device));
  const check_verdict verdict = compute(ops, device, host);
  if (verdict.outcome != CHECK_OK) return verdict;
  REQUIRE(ops->profile->stop(device));
  REQUIRE(ops->profile->drain(device, INT64_C(5000000000)));
  REQUIRE(ops->profile->status(device, &about));
  REQUIRE(ops->profile->detach(device));
  if (about.mode != PD_PROFILE_FULL && !about.note)
    return check_verdict_of(CHECK_FAILED, "mode %u without a note", about.mode);
  return check_ok();
}

/* ---- what profiling records ---- */

static check_verdict judge_calls(const pd_trace *trace, uint64_t *operations, uint64_t *copies) {
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    const bool operation = call->api == PD_API_LAUNCH || call->api == PD_API_MEMSET;
    if (!operation && call->api != PD_API_MEMCPY) continue;
    if (call->result == 0 && call->activity_count != 1)
      return check_verdict_of(CHECK_FAILED, "the call %s has %u device records, not one",
                              pd_trace_string(trace, call->name)->text, call->activity_count);
    *(operation ? operations : copies) += 1;
  }
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->call != PD_NONE && row->start_ns < PD_AT(pd_call, &trace->calls, row->call)->start_ns)
      return check_verdict_of(CHECK_FAILED, "%s began before the call that launched it",
                              pd_trace_string(trace, row->name)->text);
    if (row->detail.kind == PD_ACTIVITY_MEMCPY && row->detail.bytes != sizeof(float))
      return check_verdict_of(CHECK_FAILED, "a copy of %zu bytes is recorded as one of %llu", sizeof(float),
                              (unsigned long long)row->detail.bytes);
  }
  return check_ok();
}

/* The trace of fill, scale, mean and one read back. Operations may take more than one launch each. */
static check_verdict judge_trace(const pd_trace *trace) {
  uint64_t operations = 0, copies = 0;
  const check_verdict verdict = judge_calls(trace, &operations, &copies);
  if (verdict.outcome != CHECK_OK) return verdict;
  for (pd_loss i = 0; i < PD_LOSS_COUNT; i++)
    if (trace->losses[i] && i != PD_LOSS_AMBIGUOUS && i != PD_LOSS_CLOCK_STEP && i != PD_LOSS_TIME_CORRECTED)
      return check_verdict_of(CHECK_FAILED, "lost: %llu %s", (unsigned long long)trace->losses[i], pd_loss_text(i));
  if (operations < 3 || copies != 1)
    return check_verdict_of(CHECK_FAILED, "three operations and a copy left %llu launches and %llu copies",
                            (unsigned long long)operations, (unsigned long long)copies);
  int64_t bytes = 0;
  for (uint64_t i = 0; i < trace->memory.count; i++) bytes += PD_AT(pd_memory_row, &trace->memory, i)->event.bytes;
  if (trace->memory.count < 4 || bytes != 0)
    return check_verdict_of(CHECK_FAILED, "two blocks came and went, and left %llu memory events of %lld bytes in all",
                            (unsigned long long)trace->memory.count, (long long)bytes);
  return check_ok();
}

/* One step of a window: the short sequence of operations, as the loop would have it recorded. */
static check_verdict record_step(const pd_device_ops *ops, pd_device *device, check_host *host, recorder *to,
                                 pd_profile_status *about) {
  const pd_record *record = recorder_table(to);
  const pd_profile_options options = {.size = sizeof options, .profile_memory = 1, .sync = 1};
  REQUIRE(ops->profile->attach(device, &options));
  REQUIRE(ops->profile->start(device));
  recorder_enable(to, true);
  REQUIRE(recorder_window_begin(to, 0));
  const uint64_t start = record->ticks(record);
  const check_verdict verdict = compute(ops, device, host);
  if (verdict.outcome != CHECK_OK) return verdict;
  REQUIRE(ops->stream->device_synchronize(device));
  const uint64_t end = record->ticks(record);
  const recorder_step step = {
      .start_ticks = start, .end_ticks = end, .train_start_ticks = start, .train_end_ticks = end};
  REQUIRE(recorder_step_done(to, &step));
  REQUIRE(ops->profile->stop(device));
  REQUIRE(ops->profile->drain(device, INT64_C(5000000000)));
  recorder_enable(to, false);
  REQUIRE(ops->profile->status(device, about));
  REQUIRE(ops->profile->detach(device));
  return check_ok();
}

static check_verdict records(const check_target *target) {
  const pd_device_ops *ops = target->table->ops.device;
  const recorder_options room = {.max_bytes = 16 << 20, .profile_memory = true};
  pd_profile_status about = {.size = sizeof about};
  recorder *to = NULL;
  pd_device *device = NULL;
  pd_trace *trace = NULL;
  check_host host;
  check_host_init(&host);
  void *options = check_options(target, NULL, NULL);
  check_verdict verdict = check_verdict_of(CHECK_BROKEN, "out of memory");
  if (!options || recorder_open(&room, &to) != PD_OK) goto out;
  host.own_record = recorder_table(to);
  const pd_status status = ops->open(&host.table, options, 0, &device);
  verdict = status == PD_OK            ? check_ok()
            : status == PD_UNSUPPORTED ? check_verdict_of(CHECK_SKIPPED, "%s", host.message)
                                       : check_verdict_of(CHECK_FAILED, "open returned %d: %s", status, host.message);
  if (status != PD_OK) goto out;
  verdict = record_step(ops, device, &host, to, &about);
  if (verdict.outcome == CHECK_OK && about.mode != PD_PROFILE_FULL)
    verdict = check_verdict_of(CHECK_SKIPPED, "%s", about.note ? about.note : "it records nothing here");
  if (verdict.outcome == CHECK_OK) {
    const recorder_window ended = {.profile = about.mode, .device = check_device_props()};
    verdict = recorder_window_end(to, &ended, &trace) == PD_OK
                  ? judge_trace(trace)
                  : check_verdict_of(CHECK_BROKEN, "no trace could be made");
  }
  ops->close(device);
out:
  if (trace) trace_free(trace);
  recorder_close(to);
  free(options);
  return verdict;
}

/* ---- failures in turn ---- */

/* Everything that it takes is given back, whatever failed in between. */
static pd_status use(const pd_device_ops *ops, pd_device *device, float *mean) {
  pd_stream *stream = NULL;
  void *x = NULL, *y = NULL;
  pd_status status = ops->stream->create(device, &stream);
  if (status != PD_OK) return status;
  status = ops->memory->alloc(device, stream, PD_ALLOCATOR_POOL, COUNT * sizeof(float), &x);
  if (status == PD_OK) status = ops->memory->alloc(device, stream, PD_ALLOCATOR_RAW, sizeof(float), &y);
  const pd_tensor input = {.data = x, .shape = {COUNT}, .rank = 1, .dtype = PD_F32};
  const pd_tensor output = {.data = y, .shape = {1}, .rank = 1, .dtype = PD_F32};
  if (status == PD_OK) status = ops->tensor->fill(device, stream, &input, 1.5);
  if (status == PD_OK) status = ops->tensor->elementwise(device, stream, PD_EW_SCALE, &input, &input, NULL, 2.0);
  if (status == PD_OK) status = ops->tensor->mean(device, stream, &output, &input);
  if (status == PD_OK) status = ops->memory->copy(device, stream, mean, y, sizeof *mean, PD_COPY_DEVICE_TO_HOST);
  const pd_status waited = ops->stream->synchronize(device, stream);
  if (status == PD_OK) status = waited;
  const pd_status freed[] = {ops->memory->free(device, stream, PD_ALLOCATOR_RAW, sizeof(float), y),
                             ops->memory->free(device, stream, PD_ALLOCATOR_POOL, COUNT * sizeof(float), x),
                             ops->stream->synchronize(device, stream)};
  for (size_t i = 0; i < sizeof freed / sizeof freed[0]; i++)
    if (status == PD_OK) status = freed[i];
  ops->stream->destroy(device, stream);
  return status;
}

static void live_in_turn(const check_target *target, check_life *life) {
  const pd_device_ops *ops = target->table->ops.device;
  check_host host;
  check_host_init(&host);
  pd_device *device = NULL;
  float mean = 0;
  void *options = check_options(target, NULL, NULL);
  life->verdict = check_verdict_of(CHECK_BROKEN, "out of memory");
  if (!options) return;
  pd_status status = ops->open(&host.table, options, 0, &device);
  const bool set = device != NULL;
  const bool opened_it = status == PD_OK;
  if (opened_it) {
    status = use(ops, device, &mean);
    ops->close(device);
  }
  free(options);
  check_life_take(life, &host, status);
  life->output[0] = (uint64_t)(mean * 1024);
  if (!opened_it && set) life->verdict = check_verdict_of(CHECK_FAILED, "open failed and set *device all the same");
}

static check_verdict open_close(const check_target *target) { return with_defaults(target, NULL); }
static check_verdict props(const check_target *target) { return with_defaults(target, use_props); }
static check_verdict memory(const check_target *target) { return with_defaults(target, use_memory); }
static check_verdict no_memory(const check_target *target) { return with_defaults(target, too_much_memory); }
static check_verdict computes(const check_target *target) { return with_defaults(target, compute); }
static check_verdict profiles(const check_target *target) { return with_defaults(target, profile); }

static check_verdict no_such_index(const check_target *target) {
  const pd_device_ops *ops = target->table->ops.device;
  check_host host;
  check_host_init(&host);
  pd_device *device = NULL;
  void *options = check_options(target, NULL, NULL);
  if (!options) return check_verdict_of(CHECK_BROKEN, "out of memory");
  const pd_status status = ops->open(&host.table, options, 250, &device);
  if (status == PD_OK) ops->close(device);
  free(options);
  if (status == PD_OK) return check_verdict_of(CHECK_FAILED, "device 250 opens");
  return host.message[0] ? check_ok() : check_verdict_of(CHECK_FAILED, "open returned %d without a message", status);
}

static check_verdict open_with(const check_target *target, const void *options) {
  const check_verdict verdict = opened(target, options, NULL);
  return verdict.outcome == CHECK_SKIPPED ? check_ok() : verdict;
}
static check_verdict bounds(const check_target *target) { return check_each_bound(target, open_with); }

CHECK_PROCESS_FUNCTIONS(live_in_turn)

const check check_device_list[] = {
    {"open and close, twice", open_close},
    {"properties, also for a reader with a shorter struct", props},
    {"memory: none, some, aligned", memory},
    {"out of memory is a status with a message, and the device stays usable", no_memory},
    {"fill, scale, mean and read back", computes},
    {"profiling: attach, start, stop, drain, detach", profiles},
    {"each operation leaves its call, its device record and its memory events", records},
    {"an index that no machine has is refused with a message", no_such_index},
    {"open with each bound and each choice of each option", bounds},
    CHECK_PROCESS_ROWS,
    {"three steps of a real run", check_real_run},
    {NULL, NULL},
};
