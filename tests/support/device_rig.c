/* A device plugin under test; see device_rig.h. */
#include "device_rig.h"

#include "plugin_file.h"

#include <pdhost/clocks.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

static device_rig *rig_of(const pd_record *record) { return record->impl; }

static uint32_t record_intern(const pd_record *record, const char *text) {
  device_rig *rig = rig_of(record);
  pthread_mutex_lock(&rig->lock);
  uint32_t id = 0;
  while (id < rig->name_count && strcmp(rig->names[id], text) != 0) id++;
  if (id == rig->name_count && id < 256) rig->names[rig->name_count++] = strdup(text);
  pthread_mutex_unlock(&rig->lock);
  return id + 1;
}
static void record_begin(const pd_record *record, uint32_t name, pd_range_kind kind, const pd_range_info *info) {
  (void)record, (void)name, (void)kind, (void)info;
}
static void record_end(const pd_record *record) { (void)record; }
static int64_t record_now_ns(const pd_record *record) {
  (void)record;
  return pd_clock_ns(CLOCK_REALTIME);
}
static uint64_t record_ticks(const pd_record *record) { return (uint64_t)record_now_ns(record); }
static void record_activities(const pd_record *record, pd_clock clock, const pd_activity *rows, uint64_t count) {
  device_rig *rig = rig_of(record);
  (void)clock; /* both are nanoseconds here */
  pthread_mutex_lock(&rig->lock);
  if (rig->activity_count + count > rig->activity_room) {
    rig->activity_room = 2 * (rig->activity_count + count);
    rig->activities = realloc(rig->activities, rig->activity_room * sizeof *rows);
  }
  memcpy(rig->activities + rig->activity_count, rows, count * sizeof *rows);
  rig->activity_count += count;
  pthread_mutex_unlock(&rig->lock);
}
static void record_memory(const pd_record *record, const pd_memory_event *event) {
  device_rig *rig = rig_of(record);
  pthread_mutex_lock(&rig->lock);
  if (rig->memory_count == rig->memory_room) {
    rig->memory_room = 2 * rig->memory_room + 16;
    rig->memory = realloc(rig->memory, rig->memory_room * sizeof *event);
  }
  rig->memory[rig->memory_count++] = *event;
  pthread_mutex_unlock(&rig->lock);
}
static void record_counter(const pd_record *record, uint32_t name, double value) {
  (void)record, (void)name, (void)value;
}
static void record_lost(const pd_record *record, pd_loss loss, uint64_t count) {
  (void)record, (void)loss, (void)count;
}
static void record_name_thread(const pd_record *record, const char *name) { (void)record, (void)name; }

void rig_open(device_rig *rig) {
  memset(rig, 0, sizeof *rig);
  test_host_init(&rig->host);
  pthread_mutex_init(&rig->lock, NULL);
  rig->record = (pd_record){.size = sizeof(pd_record),
                            .impl = rig,
                            .enabled = &rig->enabled,
                            .intern = record_intern,
                            .begin = record_begin,
                            .end = record_end,
                            .ticks = record_ticks,
                            .now_ns = record_now_ns,
                            .activities = record_activities,
                            .memory = record_memory,
                            .counter = record_counter,
                            .lost = record_lost,
                            .name_thread = record_name_thread};
  test_host_add(&rig->host, PD_EXT_RECORD, &rig->record);
  const char *path = getenv("PDHOST_TEST_DEVICE");
  if (!path || !*path) path = PDHOST_CPU_DEVICE;
  rig->plugin = plugin_file_open(path);
  rig->ops = rig->plugin->ops.device;
  rig->options = plugin_file_options(rig->plugin);
  rig_ok(rig, rig->ops->open(&rig->host.host, rig->options, 0, &rig->device), "open");
  rig_ok(rig, rig->ops->stream->create(rig->device, &rig->stream), "stream");
  rig->seed = (uint64_t)record_now_ns(&rig->record);
  const char *seed = getenv("PDHOST_TEST_SEED");
  if (seed) rig->seed = strtoull(seed, NULL, 10);
  fprintf(stderr, "device %s, PDHOST_TEST_SEED=%llu\n", rig->plugin->name, (unsigned long long)rig->seed);
}

void rig_close(device_rig *rig) {
  rig->ops->stream->destroy(rig->device, rig->stream);
  rig->ops->close(rig->device);
  free(rig->options);
  free(rig->activities);
  free(rig->memory);
  for (uint32_t i = 0; i < rig->name_count; i++) free(rig->names[i]);
  pthread_mutex_destroy(&rig->lock);
}

bool rig_is_cuda(const device_rig *rig) { return strcmp(rig->plugin->name, "cuda") == 0; }

bool rig_format_at(const device_rig *rig, int index, rig_format *format) {
  static const rig_format all[RIG_FORMATS] = {{PD_F32, PD_NCHW}, {PD_F32, PD_NHWC},  {PD_F16, PD_NCHW},
                                              {PD_F16, PD_NHWC}, {PD_BF16, PD_NCHW}, {PD_BF16, PD_NHWC}};
  *format = all[index];
  return rig->ops->tensor->supports(rig->device, format->dtype, format->layout);
}

static size_t width_of(pd_dtype dtype) {
  return dtype == PD_F16 || dtype == PD_BF16 ? 2 : dtype == PD_I64 ? 8 : dtype == PD_U8 ? 1 : 4;
}

int64_t rig_count(const pd_tensor *tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
  return count;
}

pd_tensor rig_tensor(device_rig *rig, pd_dtype dtype, pd_layout layout, uint32_t rank, const int64_t *dims) {
  pd_tensor t = {.rank = rank, .dtype = dtype, .layout = rank == 4 ? layout : PD_NCHW};
  for (uint32_t i = 0; i < rank; i++) t.shape[i] = dims[i];
  const uint64_t bytes = (uint64_t)rig_count(&t) * width_of(dtype);
  rig_ok(rig, rig->ops->memory->alloc(rig->device, rig->stream, PD_ALLOCATOR_POOL, bytes, &t.data), "alloc");
  void *poison = malloc(bytes);
  memset(poison, 0xFF, bytes);
  rig_ok(rig, rig->ops->memory->copy(rig->device, rig->stream, t.data, poison, bytes, PD_COPY_HOST_TO_DEVICE), "copy");
  rig_sync(rig);
  free(poison);
  return t;
}

void rig_free(device_rig *rig, pd_tensor *tensor) {
  const uint64_t bytes = (uint64_t)rig_count(tensor) * width_of(tensor->dtype);
  rig_ok(rig, rig->ops->memory->free(rig->device, rig->stream, PD_ALLOCATOR_POOL, bytes, tensor->data), "free");
  tensor->data = NULL;
}

/* IEEE 754 binary16, round to nearest even. */
static uint16_t to_half(double value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const double size = fabs(value);
  if (isnan(value)) return 0x7E00;
  if (size >= 65520) return (uint16_t)(sign | 0x7C00);
  int exponent;
  frexp(size, &exponent);
  if (exponent < -13) exponent = -13; /* subnormal: a fixed step */
  const double step = ldexp(1, exponent - 11);
  const long steps = lrint(size / step);
  return (uint16_t)(sign | (uint16_t)(((exponent + 13) << 10) + steps));
}
static double from_half(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double fraction = (double)(half & 1023);
  const double size = exponent == 31 ? (half & 1023 ? (double)NAN : (double)INFINITY)
                      : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                     : ldexp(fraction, -24);
  return half & 0x8000 ? -size : size;
}

/* The upper half of a float32, rounded to nearest even. */
static uint16_t to_brain(double value) {
  const float number = (float)value;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  if (isnan(value)) return 0x7FC0;
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
static double from_brain(uint16_t brain) {
  const uint32_t bits = (uint32_t)brain << 16;
  float number;
  memcpy(&number, &bits, sizeof number);
  return (double)number;
}

/* Where element `i` of the plain order lies in the tensor's memory. */
static int64_t place(const pd_tensor *t, int64_t i) {
  if (t->layout != PD_NHWC) return i;
  const int64_t c = t->shape[1], hw = t->shape[2] * t->shape[3];
  return (i / (c * hw) * hw + i % hw) * c + i / hw % c;
}

void rig_upload(device_rig *rig, const pd_tensor *tensor, double *values) {
  const int64_t count = rig_count(tensor);
  const uint64_t bytes = (uint64_t)count * width_of(tensor->dtype);
  void *data = malloc(bytes);
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = place(tensor, i);
    if (tensor->dtype == PD_F16) {
      ((uint16_t *)data)[at] = to_half(values[i]);
      values[i] = from_half(((uint16_t *)data)[at]);
    } else if (tensor->dtype == PD_BF16) {
      ((uint16_t *)data)[at] = to_brain(values[i]);
      values[i] = from_brain(((uint16_t *)data)[at]);
    } else if (tensor->dtype == PD_I64) {
      ((int64_t *)data)[at] = (int64_t)values[i];
    } else if (tensor->dtype == PD_I32) {
      ((int32_t *)data)[at] = (int32_t)values[i];
    } else {
      ((float *)data)[at] = (float)values[i];
      values[i] = (double)((float *)data)[at];
    }
  }
  rig_ok(rig, rig->ops->memory->copy(rig->device, rig->stream, tensor->data, data, bytes, PD_COPY_HOST_TO_DEVICE),
         "copy");
  rig_sync(rig);
  free(data);
}

void rig_download(device_rig *rig, const pd_tensor *tensor, double *values) {
  const int64_t count = rig_count(tensor);
  const uint64_t bytes = (uint64_t)count * width_of(tensor->dtype);
  void *data = malloc(bytes);
  rig_ok(rig, rig->ops->memory->copy(rig->device, rig->stream, data, tensor->data, bytes, PD_COPY_DEVICE_TO_HOST),
         "copy");
  rig_sync(rig);
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = place(tensor, i);
    values[i] = tensor->dtype == PD_F16    ? from_half(((uint16_t *)data)[at])
                : tensor->dtype == PD_BF16 ? from_brain(((uint16_t *)data)[at])
                : tensor->dtype == PD_I64  ? (double)((int64_t *)data)[at]
                : tensor->dtype == PD_I32  ? (double)((int32_t *)data)[at]
                                           : (double)((float *)data)[at];
  }
  free(data);
}

double *rig_random(device_rig *rig, int64_t count) {
  double *values = malloc((size_t)count * sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    uint64_t z = rig->seed += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    values[i] = (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
  }
  return values;
}

double rig_epsilon(pd_dtype dtype) { return dtype == PD_F16 ? 0x1p-11 : dtype == PD_BF16 ? 0x1p-8 : 0x1p-24; }

double rig_bound(pd_dtype dtype, int64_t terms) {
  return 8 * (0x1p-24 * sqrt((double)(terms > 0 ? terms : 1)) + rig_epsilon(dtype));
}

void rig_expect(device_rig *rig, const pd_tensor *out, const double *want, double bound, const char *what) {
  const int64_t count = rig_count(out);
  double *got = malloc((size_t)(count ? count : 1) * sizeof *got);
  double error = 0, size = 0;
  rig_download(rig, out, got);
  for (int64_t i = 0; i < count; i++) {
    cr_assert(isfinite(got[i]), "%s: element %lld is %g, expected %g", what, (long long)i, got[i], want[i]);
    error += pow(got[i] - want[i], 2);
    size += pow(want[i], 2);
  }
  cr_assert_leq(sqrt(error), bound * sqrt(size) + 1e-30, "%s: relative error %g, bound %g", what,
                sqrt(error) / sqrt(size), bound);
  free(got);
}

void rig_ok(device_rig *rig, pd_status status, const char *what) {
  cr_assert_eq(status, PD_OK, "%s: status %d: %s", what, (int)status, rig->host.message);
}

void rig_sync(device_rig *rig) { rig_ok(rig, rig->ops->stream->synchronize(rig->device, rig->stream), "synchronize"); }
