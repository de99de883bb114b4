/*
 * The data loader under load: many iterators with workers that come, go and stay, stops from another thread in the
 * middle, and every batch checked against the dataset. Runs under ThreadSanitizer.
 */
#include "data/dataset.h"
#include "data/loader.h"
#include "data/sampler.h"
#include "stderr_host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 3, PIXELS = 3 * SIZE * SIZE, BATCH = 3, SAMPLES = 50, BATCHES = SAMPLES / BATCH };

static atomic_int events_open, blocks_open, failures;

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "loader: line %d: %s is false\n", __LINE__, #condition);                                         \
      atomic_fetch_add(&failures, 1);                                                                                  \
    }                                                                                                                  \
  } while (0)

/* ---- a host, a recorder and a device that do just enough ---- */

static const pd_host host = {STDERR_HOST};

static const uint32_t recording = 1;
static atomic_uint ranges_open;
static uint32_t record_intern(const pd_record *record, const char *text) {
  (void)record;
  return (uint32_t)strlen(text);
}
static void record_begin(const pd_record *record, uint32_t name, pd_range_kind kind, const pd_range_info *info) {
  (void)record, (void)name, (void)kind, (void)info;
  atomic_fetch_add(&ranges_open, 1);
}
static void record_end(const pd_record *record) {
  (void)record;
  atomic_fetch_sub(&ranges_open, 1);
}
static void record_counter(const pd_record *record, uint32_t name, double value) {
  (void)record, (void)name, (void)value;
}
static void record_name_thread(const pd_record *record, const char *name) { (void)record, (void)name; }
static const pd_record record = {.size = sizeof(pd_record),
                                 .enabled = &recording,
                                 .intern = record_intern,
                                 .begin = record_begin,
                                 .end = record_end,
                                 .counter = record_counter,
                                 .name_thread = record_name_thread};

static pd_status host_alloc(pd_device *device, uint64_t bytes, void **out) {
  (void)device;
  *out = malloc(bytes);
  atomic_fetch_add(&blocks_open, 1);
  return *out ? PD_OK : PD_NO_MEMORY;
}
static pd_status host_free(pd_device *device, uint64_t bytes, void *data) {
  (void)device, (void)bytes;
  free(data);
  atomic_fetch_sub(&blocks_open, 1);
  return PD_OK;
}
static pd_status event_create(pd_device *device, pd_event **out) {
  (void)device;
  *out = malloc(1);
  atomic_fetch_add(&events_open, 1);
  return *out ? PD_OK : PD_NO_MEMORY;
}
static void event_destroy(pd_device *device, pd_event *event) {
  (void)device;
  free(event);
  atomic_fetch_sub(&events_open, 1);
}
static pd_status event_record(pd_device *device, pd_stream *stream, pd_event *event) {
  (void)device, (void)stream, (void)event;
  return PD_OK;
}
static pd_status event_synchronize(pd_device *device, pd_event *event) {
  (void)device, (void)event;
  return PD_OK;
}
static const pd_memory_ops memory = {.size = sizeof(pd_memory_ops), .host_alloc = host_alloc, .host_free = host_free};
static const pd_stream_ops streams = {.size = sizeof(pd_stream_ops),
                                      .event_create = event_create,
                                      .event_destroy = event_destroy,
                                      .event_record = event_record,
                                      .event_synchronize = event_synchronize};
static const pd_device_ops ops = {.size = sizeof(pd_device_ops), .memory = &memory, .stream = &streams};
static const pd_device_access device = {.size = sizeof(pd_device_access), .ops = &ops};

/* ---- rounds ---- */

static bool same(const void *a, const void *b, size_t bytes) { return memcmp(a, b, bytes) == 0; }

static void check_batch(const data_config *config, uint64_t epoch, const pd_batch *batch) {
  static uint32_t order[SAMPLES];
  static uint64_t known;
  float image[PIXELS];
  int64_t label;
  const dataset set = {.seed = config->seed, .image_size = SIZE, .cpu_work = config->cpu_work};
  if (known != epoch) sampler_shuffle(order, SAMPLES, config->seed, epoch);
  known = epoch;
  for (int64_t i = 0; i < batch->count; i++) {
    dataset_sample(&set, epoch, order[(int64_t)batch->index * BATCH + i], image, &label);
    CHECK(same(image, batch->images + i * PIXELS, sizeof image) && label == batch->labels[i]);
  }
}

static void *stop(void *loader) {
  data_loader_stop(loader);
  return NULL;
}

static void run(data_config config, uint64_t epochs) {
  data_loader *loader = NULL;
  const pd_batch *batch;
  CHECK(data_loader_open(&host, &device, &record, &config, &loader) == PD_OK);
  if (!loader) return;
  for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
    const uint64_t taken = epoch % 3 == 0 ? BATCHES + 1 : epoch % BATCHES; /* whole epochs and broken ones */
    CHECK(data_loader_iter_begin(loader) == PD_OK);
    for (uint64_t i = 0; i < taken; i++) {
      pd_batch next;
      const bool known = data_loader_peek(loader, &next);
      if (known) check_batch(&config, epoch, &next);
      const pd_status status = data_loader_next(loader, &batch);
      CHECK(!known || (status == PD_OK && next.images == batch->images && next.index == batch->index));
      CHECK(status == (i < BATCHES ? PD_OK : PD_STOP));
      if (status != PD_OK) break;
      CHECK(batch->index == i && batch->count == BATCH);
      check_batch(&config, epoch, batch);
      CHECK(data_loader_ready(loader) <= config.num_workers * config.prefetch_factor);
    }
    if (epoch % 2) data_loader_iter_end(loader);
  }
  /* a stop somewhere in the last epoch */
  pthread_t thread;
  CHECK(data_loader_iter_begin(loader) == PD_OK);
  const bool started = pthread_create(&thread, NULL, stop, loader) == 0;
  CHECK(started);
  pd_status status;
  do {
    status = data_loader_next(loader, &batch);
    if (status == PD_OK) check_batch(&config, epochs + 1, batch);
  } while (status == PD_OK);
  CHECK(status == PD_STOP);
  if (started) pthread_join(thread, NULL);
  data_loader_close(loader);
}

int main(void) {
  for (int64_t workers = 0; workers <= 5; workers++)
    for (int64_t prefetch = 1; prefetch <= 3; prefetch++)
      for (int flags = 0; flags < 8; flags++)
        run((data_config){.batch_size = BATCH,
                          .image_size = SIZE,
                          .dataset_size = SAMPLES,
                          .num_workers = workers,
                          .prefetch_factor = prefetch,
                          .persistent_workers = flags & 1,
                          .pin_memory = flags & 2,
                          .drop_last = true,
                          .cpu_work = 2,
                          .io_sleep_ns = flags & 4 ? 1000 : 0,
                          .io_spread = flags & 4 ? 1 : 0,
                          .worker_init_ns = flags & 4 ? 20000 * prefetch : 0,
                          .seed = (uint64_t)(workers * 31 + prefetch)},
            12);
  CHECK(atomic_load(&ranges_open) == 0);
  CHECK(atomic_load(&blocks_open) == 0);
  CHECK(atomic_load(&events_open) == 0);
  return atomic_load(&failures) != 0;
}
