/* new_device: a device that computes with plain loops, in the memory and the thread of the caller. It is complete and
 * slow. Replace it piece by piece: memory, streams and records here, the operations in new_device_ops.c. */
#include "new_device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The keys of [device]. */
typedef struct {
  int64_t extra_ns;
} options;

static const pd_option rows[] = {
    PD_OPTION_DURATION(options, extra_ns, .help = "time that each operation takes longer", .def = "0", .min = "0",
                       .max = "1s", .unit = "ns"),
};

/* ---- records: each call leaves one, and one more of the work that the device does for it ---- */

static bool recording(const pd_device *device) { return __atomic_load_n(&device->recording, __ATOMIC_ACQUIRE) != 0; }

/* `kind` 0: the device does nothing for this call. */
static void begin(pd_device *device, device_work *work, pd_site *call, pd_api_class api, pd_activity_kind kind) {
  memset(work, 0, sizeof *work);
  if (!recording(device)) return;
  const uint64_t correlation = __atomic_add_fetch(&device->correlation, 1, __ATOMIC_RELAXED);
  work->call.kind = PD_ACTIVITY_RUNTIME;
  work->call.name = pd_site_id(device->record, call);
  work->call.correlation = correlation;
  work->call.thread = (uint32_t)syscall(SYS_gettid);
  work->call.u.api.api = api;
  work->call.start = (int64_t)device->record->ticks(device->record);
  work->done.kind = kind;
  work->done.correlation = correlation;
  work->done.stream = 1;
  work->done.start = work->call.start;
}

void device_begin_kernel(pd_device *device, device_work *work, pd_site *kernel) {
  static pd_site call = PD_SITE("new_device_launch", 0);
  begin(device, work, &call, PD_API_LAUNCH, PD_ACTIVITY_KERNEL);
  if (!work->call.kind) return;
  work->done.name = pd_site_id(device->record, kernel);
  for (int i = 0; i < 3; i++) work->done.u.kernel.grid[i] = work->done.u.kernel.block[i] = 1;
  work->done.u.kernel.occupancy = work->done.u.kernel.waves = -1; /* not known */
}

static int64_t now_ns(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void device_end(pd_device *device, device_work *work) {
  if (device->extra_ns > 0)
    for (const int64_t end = now_ns() + device->extra_ns; now_ns() < end;) {}
  if (!work->call.kind) return;
  work->call.end = work->done.end = (int64_t)device->record->ticks(device->record);
  const pd_activity both[] = {work->call, work->done};
  device->record->activities(device->record, PD_CLOCK_TICKS, both, work->done.kind ? 2 : 1);
}

/* ---- memory: the host's own ---- */

static void record_memory(pd_device *device, const void *data, int64_t bytes, pd_allocator allocator) {
  if (!device->record || !pd_record_on(device->record)) return;
  const uint64_t allocated = __atomic_load_n(&device->allocated, __ATOMIC_RELAXED);
  const pd_memory_event event = {.address = (uint64_t)(uintptr_t)data,
                                 .bytes = bytes,
                                 .total_allocated = allocated,
                                 .total_reserved = allocated,
                                 .device_type = allocator != PD_ALLOCATOR_PINNED,
                                 .allocator = allocator};
  device->record->memory(device->record, &event);
}

static pd_status memory_alloc(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                              void **out) {
  (void)stream;
  *out = NULL;
  if (bytes == 0) return PD_OK;
  if (bytes < UINT64_C(1) << 46) *out = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!*out) return device->host->fail(device->host, PD_NO_MEMORY, "%llu bytes", (unsigned long long)bytes);
  const uint64_t now = __atomic_add_fetch(&device->allocated, bytes, __ATOMIC_RELAXED);
  uint64_t peak = __atomic_load_n(&device->peak, __ATOMIC_RELAXED);
  while (now > peak &&
         !__atomic_compare_exchange_n(&device->peak, &peak, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  record_memory(device, *out, (int64_t)bytes, allocator);
  return PD_OK;
}

static pd_status memory_free(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void *data) {
  (void)stream;
  if (!data) return PD_OK;
  __atomic_sub_fetch(&device->allocated, bytes, __ATOMIC_RELAXED);
  record_memory(device, data, -(int64_t)bytes, allocator);
  free(data);
  return PD_OK;
}

static pd_status host_alloc(pd_device *device, uint64_t bytes, void **out) {
  return memory_alloc(device, NULL, PD_ALLOCATOR_PINNED, bytes, out);
}

static pd_status host_free(pd_device *device, uint64_t bytes, void *data) {
  return memory_free(device, NULL, PD_ALLOCATOR_PINNED, bytes, data);
}

static pd_status memory_usage(pd_device *device, uint64_t *allocated, uint64_t *reserved, uint64_t *peak) {
  *allocated = *reserved = __atomic_load_n(&device->allocated, __ATOMIC_RELAXED);
  *peak = __atomic_load_n(&device->peak, __ATOMIC_RELAXED);
  return PD_OK;
}

static pd_status memory_copy(pd_device *device, pd_stream *stream, void *to, const void *from, uint64_t bytes,
                             pd_copy_kind kind) {
  static pd_site call = PD_SITE("new_device_copy", 0);
  device_work work;
  (void)stream;
  begin(device, &work, &call, PD_API_MEMCPY, PD_ACTIVITY_MEMCPY);
  work.done.bytes = bytes;
  work.done.u.copy.from = kind == PD_COPY_HOST_TO_DEVICE ? PD_MEMORY_PAGEABLE : PD_MEMORY_DEVICE;
  work.done.u.copy.to = kind == PD_COPY_DEVICE_TO_HOST ? PD_MEMORY_PAGEABLE : PD_MEMORY_DEVICE;
  if (bytes) memmove(to, from, bytes);
  device_end(device, &work);
  return PD_OK;
}

static const pd_memory_ops memory_ops = {.size = sizeof(pd_memory_ops),
                                         .alloc = memory_alloc,
                                         .free = memory_free,
                                         .host_alloc = host_alloc,
                                         .host_free = host_free,
                                         .usage = memory_usage,
                                         .copy = memory_copy};

/* ---- streams: all work is done when its call returns, so there is nothing to wait for ---- */

struct pd_stream {
  uint32_t unused;
};
struct pd_event {
  int64_t recorded_ns;
};

static pd_status stream_create(pd_device *device, pd_stream **out) {
  *out = calloc(1, sizeof **out);
  return *out ? PD_OK : device->host->fail(device->host, PD_NO_MEMORY, "no memory for a stream");
}

static void stream_destroy(pd_device *device, pd_stream *stream) {
  (void)device;
  free(stream);
}

static pd_status synchronize(pd_device *device, pd_stream *stream) {
  static pd_site call = PD_SITE("new_device_synchronize", 0);
  device_work work;
  (void)stream;
  begin(device, &work, &call, PD_API_SYNC, 0);
  device_end(device, &work);
  return PD_OK;
}

static pd_status device_synchronize(pd_device *device) { return synchronize(device, NULL); }

static pd_status event_create(pd_device *device, pd_event **out) {
  *out = calloc(1, sizeof **out);
  return *out ? PD_OK : device->host->fail(device->host, PD_NO_MEMORY, "no memory for an event");
}

static void event_destroy(pd_device *device, pd_event *event) {
  (void)device;
  free(event);
}

static pd_status event_record(pd_device *device, pd_stream *stream, pd_event *event) {
  (void)device;
  (void)stream;
  event->recorded_ns = now_ns();
  return PD_OK;
}

static pd_status event_wait(pd_device *device, pd_stream *stream, pd_event *event) {
  (void)device;
  (void)stream;
  (void)event;
  return PD_OK;
}

static pd_status event_synchronize(pd_device *device, pd_event *event) {
  (void)device;
  (void)event;
  return PD_OK;
}

static pd_status event_elapsed_ns(pd_device *device, pd_event *start, pd_event *end, double *ns) {
  (void)device;
  *ns = (double)(end->recorded_ns - start->recorded_ns);
  return PD_OK;
}

/* Without capture and replay: [train] cuda_graph is refused. */
static const pd_stream_ops stream_ops = {.size = sizeof(pd_stream_ops),
                                         .create = stream_create,
                                         .destroy = stream_destroy,
                                         .synchronize = synchronize,
                                         .device_synchronize = device_synchronize,
                                         .event_create = event_create,
                                         .event_destroy = event_destroy,
                                         .event_record = event_record,
                                         .event_wait = event_wait,
                                         .event_synchronize = event_synchronize,
                                         .event_elapsed_ns = event_elapsed_ns};

/* ---- profiling ---- */

static pd_status attach(pd_device *device, const pd_profile_options *about) {
  (void)device;
  (void)about;
  return PD_OK;
}

static pd_status start(pd_device *device) {
  __atomic_store_n(&device->recording, device->record != NULL, __ATOMIC_RELEASE);
  return PD_OK;
}

static pd_status stop(pd_device *device) {
  __atomic_store_n(&device->recording, 0, __ATOMIC_RELEASE);
  return PD_OK;
}

/* Each record is handed over when its work is done: none is left. */
static pd_status drain(pd_device *device, int64_t timeout_ns) {
  (void)device;
  (void)timeout_ns;
  return PD_OK;
}

static pd_status profile_status(pd_device *device, pd_profile_status *status) {
  status->mode = device->record ? PD_PROFILE_FULL : PD_PROFILE_NONE;
  status->dropped = status->zero_stamped = status->implausible = 0;
  status->note = device->record ? NULL : "the host has no recorder";
  return PD_OK;
}

static const pd_profile_ops profile_ops = {.size = sizeof(pd_profile_ops),
                                           .attach = attach,
                                           .start = start,
                                           .stop = stop,
                                           .drain = drain,
                                           .detach = stop,
                                           .status = profile_status};

/* ---- the device ---- */

static pd_status device_open(const pd_host *host, const void *opt, uint32_t index, pd_device **out) {
  const options *given = opt;
  if (index != 0) return host->fail(host, PD_UNSUPPORTED, "device %u: there is one device, number 0", index);
  pd_device *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "no memory for the device");
  self->host = host;
  self->record = host->extension(host, PD_EXT_RECORD);
  self->extra_ns = given->extra_ns;
  *out = self;
  return PD_OK;
}

static void device_close(pd_device *device) { free(device); }

/* Writes no more than the `size` that the reader has set. */
static pd_status device_props(pd_device *device, pd_device_props *out) {
  const uint32_t size = out->size;
  const pd_device_props all = {.size = size, .name = "new_device", .versions = "new_device 1.0"};
  (void)device;
  memcpy(out, &all, size < sizeof all ? size : sizeof all);
  return PD_OK;
}

/* Sizes with which a run on this device takes seconds; the user's own settings win. */
static const pd_preset presets[] = {{"data.batch_size", "4"}, {"data.image_size", "16"}, {NULL, NULL}};

PD_DEVICE("new_device", "1.0", "computes with plain loops in the caller's thread", options, rows, .open = device_open,
          .close = device_close, .props = device_props, .memory = &memory_ops, .stream = &stream_ops,
          .tensor = &new_device_tensor_ops, .profile = &profile_ops, .presets = presets)
