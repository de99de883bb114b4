/*
 * Threads with a stream each and one that all share, against windows that start, stop and drain: run under
 * ThreadSanitizer. Arguments: the CPU device's plugin. Ends with 0 when every sum is right and every launch of a window
 * has left one runtime and one device record.
 */
#include "test_host.h"

#include <pdhost/clocks.h>
#include <pdhost/device.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 60, ADDS = 40, WINDOWS = 25 };

static atomic_uint_fast64_t launches, done, memory_events;
static const uint32_t enabled = 1;
static const pd_device_ops *ops;
static pd_device *device;
static pd_stream *shared;
static atomic_int failures;

static uint32_t intern(const pd_record *record, const char *text) {
  (void)record;
  (void)text;
  return 1;
}
static uint64_t ticks(const pd_record *record) {
  (void)record;
  return (uint64_t)pd_monotonic_ns();
}
static void activities(const pd_record *record, pd_clock clock, const pd_activity *rows, uint64_t count) {
  (void)record;
  (void)clock;
  for (uint64_t i = 0; i < count; i++) {
    if (rows[i].kind != PD_ACTIVITY_RUNTIME)
      atomic_fetch_add(&done, 1);
    else if (rows[i].u.api.api >= PD_API_LAUNCH && rows[i].u.api.api <= PD_API_MEMSET)
      atomic_fetch_add(&launches, 1);
  }
}
static void memory(const pd_record *record, const pd_memory_event *event) {
  (void)record;
  (void)event;
  atomic_fetch_add(&memory_events, 1);
}
static void name_thread(const pd_record *record, const char *name) {
  (void)record;
  (void)name;
}

static void check(pd_status status, const char *what) {
  if (status == PD_OK) return;
  (void)fprintf(stderr, "%s: status %d\n", what, (int)status);
  atomic_fetch_add(&failures, 1);
}

static pd_tensor vector(void *data, int64_t count) {
  return (pd_tensor){.data = data, .shape = {count}, .rank = 1, .dtype = PD_F32};
}
static pd_tensor image(void *data, int64_t n, int64_t c, int64_t size) {
  return (pd_tensor){.data = data, .shape = {n, c, size, size}, .rank = 4, .dtype = PD_F32};
}

/* One round: `count` numbers set to 1 on the own stream, ADDS additions of 1 on the shared one behind an event, then
 * the own stream reads them back behind another. A convolution of ones beside it: 9 in the middle. */
static void round_of(pd_stream *own, float *pinned, int64_t count) {
  const uint64_t bytes = (uint64_t)count * sizeof(float);
  const pd_conv2d conv = {.size = sizeof conv, .stride = 1, .padding = 0};
  void *data[4];
  pd_event *ready, *added;
  for (int i = 0; i < 4; i++) check(ops->memory->alloc(device, own, PD_ALLOCATOR_POOL, bytes, &data[i]), "alloc");
  check(ops->stream->event_create(device, &ready), "event");
  check(ops->stream->event_create(device, &added), "event");
  const pd_tensor y = vector(data[0], count), one = vector(data[1], count);
  const pd_tensor x = image(data[1], 1, 1, 5), w = image(data[2], 1, 1, 3), out = image(data[3], 1, 1, 3);
  const pd_tensor weights = vector(data[2], count);
  check(ops->tensor->fill(device, own, &y, 1), "fill");
  check(ops->tensor->fill(device, own, &one, 1), "fill");
  check(ops->tensor->fill(device, own, &weights, 1), "fill");
  check(ops->stream->event_record(device, own, ready), "record");
  check(ops->stream->event_wait(device, shared, ready), "wait");
  for (int i = 0; i < ADDS; i++)
    check(ops->tensor->elementwise(device, shared, PD_EW_ADD, &y, &y, &one, 1), "elementwise");
  check(ops->tensor->conv2d_forward(device, shared, &out, &x, &w, NULL, false, &conv), "conv2d_forward");
  check(ops->stream->event_record(device, shared, added), "record");
  check(ops->stream->event_wait(device, own, added), "wait");
  check(ops->tensor->conv2d_forward(device, own, &out, &x, &w, NULL, true, &conv), "conv2d_forward");
  check(ops->memory->copy(device, own, pinned, data[0], bytes, PD_COPY_DEVICE_TO_HOST), "copy");
  float middle = 0;
  check(ops->memory->copy(device, own, &middle, (float *)data[3] + 4, sizeof middle, PD_COPY_DEVICE_TO_HOST), "copy");
  ops->stream->event_destroy(device, ready);
  ops->stream->event_destroy(device, added);
  for (int i = 0; i < 4; i++) check(ops->memory->free(device, own, PD_ALLOCATOR_POOL, bytes, data[i]), "free");
  check(ops->stream->synchronize(device, own), "synchronize");
  check(middle == 9.0f ? PD_OK : PD_INVALID, "a convolution of ones");
  for (int64_t i = 0; i < count; i++)
    if (pinned[i] != 1 + ADDS) check(PD_INVALID, "a sum");
}

static void *work(void *argument) {
  const int64_t count = 32 + *(const int *)argument;
  pd_stream *own = NULL;
  void *pinned = NULL;
  check(ops->stream->create(device, &own), "stream");
  check(ops->memory->host_alloc(device, 64 * sizeof(float), &pinned), "host_alloc");
  for (int i = 0; i < ROUNDS; i++) round_of(own, pinned, count);
  check(ops->memory->host_free(device, 64 * sizeof(float), pinned), "host_free");
  ops->stream->destroy(device, own);
  return NULL;
}

int main(int argc, char **argv) {
  test_host host;
  const pd_record record = {.size = sizeof(pd_record),
                            .enabled = &enabled,
                            .intern = intern,
                            .ticks = ticks,
                            .activities = activities,
                            .memory = memory,
                            .name_thread = name_thread};
  test_host_init(&host);
  test_host_add(&host, PD_EXT_RECORD, &record);
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  void *entry = library ? dlsym(library, "pd_plugin_entry") : NULL;
  if (!entry) {
    (void)fprintf(stderr, "usage: %s cpu.so\n", argv[0]);
    return 2;
  }
  const pd_plugin *(*plugin_entry)(void);
  memcpy(&plugin_entry, &entry, sizeof entry);
  const pd_plugin *plugin = plugin_entry();
  /* One thread an operation: OpenMP's runtime is not built for ThreadSanitizer. A short queue: the callers wait. */
  int64_t *options = calloc(1, plugin->options_size);
  if (!options) return 2;
  for (uint32_t i = 0; i < plugin->option_count; i++)
    options[plugin->options[i].offset / sizeof *options] = strcmp(plugin->options[i].key, "threads") == 0 ? 1 : 16;
  ops = plugin->ops.device;
  check(ops->open(&host.host, options, 0, &device), "open");
  if (!device) return 1;
  check(ops->stream->create(device, &shared), "stream");
  pthread_t threads[THREADS];
  int numbers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) return 2;
  }
  const pd_profile_options about = {.size = sizeof about, .profile_memory = 1, .sync = 1};
  check(ops->profile->attach(device, &about), "attach");
  for (int i = 0; i < WINDOWS; i++) {
    check(ops->profile->start(device), "start");
    check(ops->stream->synchronize(device, shared), "synchronize");
    check(ops->profile->stop(device), "stop");
    check(ops->profile->drain(device, INT64_C(10000000000)), "drain");
  }
  check(ops->profile->start(device), "start"); /* to the end, so that some launches are sure to be seen */
  pd_stream *late = NULL;
  void *number = NULL;
  check(ops->stream->create(device, &late), "stream");
  check(ops->memory->alloc(device, late, PD_ALLOCATOR_RAW, 4, &number), "alloc");
  const pd_tensor one = vector(number, 1);
  for (int i = 0; i < 100; i++) check(ops->tensor->fill(device, late, &one, 2), "fill");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  check(ops->memory->free(device, late, PD_ALLOCATOR_RAW, 4, number), "free");
  check(ops->profile->stop(device), "stop");
  check(ops->profile->drain(device, INT64_C(10000000000)), "drain");
  uint64_t allocated = 1, reserved, peak;
  check(ops->memory->usage(device, &allocated, &reserved, &peak), "usage");
  if (allocated != 0) check(PD_INVALID, "memory in use at the end");
  if (launches != done || launches < 100) check(PD_INVALID, "launches and device records");
  (void)printf("launches %llu, device records %llu, memory events %llu, failures %d\n", (unsigned long long)launches,
               (unsigned long long)done, (unsigned long long)memory_events, atomic_load(&failures));
  ops->stream->destroy(device, late);
  ops->close(device);
  free(options);
  return atomic_load(&failures) != 0;
}
