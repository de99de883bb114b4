/* The data loader: order and content for any number of workers, ends, residents, stops, what it records. */
#include "pd_test.h"
#include "train_rig.h"

#include "data/dataset.h"
#include "data/loader.h"
#include "data/sampler.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { SIZE = 5, PIXELS = 3 * SIZE * SIZE };

static char logged[2048];
static int log_count;
PD_PRINTF(3, 4) static void keep_log(const pd_host *host, pd_log_level level, const char *format, ...) {
  (void)host;
  cr_assert_eq(level, PD_LOG_WARN);
  va_list args;
  va_start(args, format);
  vsnprintf(logged, sizeof logged, format, args);
  va_end(args);
  log_count++;
}

static void open_rig(train_rig *rig) {
  train_rig_open(rig);
  rig->host.host.log = keep_log;
  log_count = 0;
}

static data_config config_of(int64_t workers) {
  return (data_config){.batch_size = 4,
                       .image_size = SIZE,
                       .dataset_size = 42,
                       .num_workers = workers,
                       .prefetch_factor = 2,
                       .drop_last = true,
                       .cpu_work = 3,
                       .seed = 11};
}

static data_loader *open_loader(train_rig *rig, const data_config *config) {
  data_loader *loader = NULL;
  train_rig_ok(rig, data_loader_open(&rig->host.host, &rig->access, rig->record, config, &loader), "data_loader_open");
  return loader;
}

/* Batch `index` of an epoch as the dataset and the sampler define it. */
static void expect_batch(const data_config *config, uint64_t epoch, uint64_t index, const pd_batch *batch) {
  uint32_t order[64];
  float image[PIXELS];
  int64_t label;
  const dataset set = {.seed = config->seed, .image_size = config->image_size, .cpu_work = config->cpu_work};
  sampler_shuffle(order, (uint32_t)config->dataset_size, config->seed, epoch);
  cr_assert(batch->index == index && batch->channels == 3 && batch->height == SIZE && batch->width == SIZE);
  for (int64_t i = 0; i < batch->count; i++) {
    dataset_sample(&set, epoch, order[(int64_t)index * config->batch_size + i], image, &label);
    cr_assert(train_rig_same(image, batch->images + i * PIXELS, sizeof image), "batch %lu sample %ld", index, i);
    cr_assert_eq(label, batch->labels[i]);
  }
}

/* Two epochs, every batch checked. */
static void expect_epochs(train_rig *rig, const data_config *config, uint64_t full, int64_t last_count) {
  data_loader *loader = open_loader(rig, config);
  const pd_batch *batch;
  for (uint64_t epoch = 1; epoch <= 2; epoch++) {
    train_rig_ok(rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < full + (last_count != 0); i++) {
      train_rig_ok(rig, data_loader_next(loader, &batch), "next");
      cr_assert_eq(batch->count, i < full ? config->batch_size : last_count);
      cr_assert_eq(batch->pinned, config->pin_memory);
      cr_assert_eq(batch->resident, 0);
      expect_batch(config, epoch, i, batch);
    }
    cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
    cr_assert_null(batch);
    data_loader_iter_end(loader);
  }
  data_loader_close(loader);
}

PD_TEST(loader, batches_are_the_same_for_any_number_of_workers) {
  train_rig rig;
  open_rig(&rig);
  const int64_t workers[] = {0, 1, 2, 5};
  for (int i = 0; i < 4; i++) {
    data_config config = config_of(workers[i]);
    expect_epochs(&rig, &config, 10, 0);
    config.prefetch_factor = 1;
    config.persistent_workers = true;
    config.pin_memory = true;
    expect_epochs(&rig, &config, 10, 0);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, the_last_batch_is_short_without_drop_last) {
  train_rig rig;
  open_rig(&rig);
  for (int64_t workers = 0; workers <= 2; workers++) {
    data_config config = config_of(workers);
    config.drop_last = false;
    expect_epochs(&rig, &config, 10, 2);
    config.dataset_size = 3;
    expect_epochs(&rig, &config, 0, 3);
    config.dataset_size = 8;
    expect_epochs(&rig, &config, 2, 0);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, an_epoch_without_a_batch_is_refused) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(1);
  config.dataset_size = 3;
  data_loader *loader = NULL;
  cr_assert_eq(data_loader_open(&rig.host.host, &rig.access, rig.record, &config, &loader), PD_INVALID);
  cr_assert_null(loader);
  cr_assert(strstr(rig.host.message, "[data] batch_size = 4 is more than dataset_size = 3"), "%s", rig.host.message);
  config.dataset_size = (int64_t)1 << 32;
  cr_assert_eq(data_loader_open(&rig.host.host, &rig.access, rig.record, &config, &loader), PD_INVALID);
  cr_assert(strstr(rig.host.message, "dataset_size = 4294967296"), "%s", rig.host.message);
  train_rig_close(&rig);
}

PD_TEST(loader, an_iterator_may_end_early_and_begin_again) {
  train_rig rig;
  open_rig(&rig);
  for (int persistent = 0; persistent <= 1; persistent++) {
    data_config config = config_of(3);
    config.persistent_workers = persistent;
    data_loader *loader = open_loader(&rig, &config);
    const pd_batch *batch;
    cr_assert_eq(data_loader_next(loader, &batch), PD_INVALID);
    for (uint64_t epoch = 1; epoch <= 8; epoch++) {
      train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
      for (uint64_t i = 0; i < epoch - 1; i++) {
        train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
        expect_batch(&config, epoch, i, batch);
      }
      if (epoch % 2) data_loader_iter_end(loader); /* a begin ends what is open */
    }
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

static void expect_residents(train_rig *rig, data_resident resident, bool pinned) {
  data_config config = config_of(2);
  config.resident = resident;
  config.resident_batches = 3;
  config.pin_memory = pinned;
  data_loader *loader = open_loader(rig, &config);
  const pd_batch *batch;
  const float *images[3];
  for (int epoch = 0; epoch < 2; epoch++) {
    train_rig_ok(rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < 10; i++) {
      train_rig_ok(rig, data_loader_next(loader, &batch), "next");
      if (epoch == 0 && i < 3) images[i] = batch->images;
      cr_assert_eq(batch->images, images[i % 3]);
      cr_assert_eq(batch->index, i);
      cr_assert_eq(batch->pinned, pinned);
      cr_assert_eq(batch->resident, resident == DATA_RESIDENT_DEVICE ? i % 3 + 1 : 0);
      pd_batch same = *batch;
      same.index = i % 3;
      expect_batch(&config, 0, i % 3, &same);
    }
    cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
    data_loader_iter_end(loader);
  }
  pd_batch kept;
  for (uint64_t i = 0; i < 3; i++) {
    cr_assert_eq(data_loader_resident(loader, i, &kept), resident == DATA_RESIDENT_DEVICE);
    if (resident == DATA_RESIDENT_DEVICE) cr_assert(kept.resident == i + 1 && kept.images == images[i]);
  }
  cr_assert_not(data_loader_resident(loader, 3, &kept));
  cr_assert_eq(data_loader_ready(loader), 0);
  data_loader_close(loader);
}

PD_TEST(loader, residents_are_made_once_and_served_in_turn) {
  train_rig rig;
  open_rig(&rig);
  for (int pinned = 0; pinned <= 1; pinned++) {
    expect_residents(&rig, DATA_RESIDENT_HOST, pinned);
    expect_residents(&rig, DATA_RESIDENT_DEVICE, pinned);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, keys_without_meaning_are_named_once) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(0);
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 0);
  config.prefetch_factor = 4;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 1);
  cr_assert(strstr(logged, "[data] prefetch_factor has no meaning with num_workers = 0"), "%s", logged);
  config.persistent_workers = true;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 2);
  cr_assert(strstr(logged, "persistent_workers and prefetch_factor have no meaning"), "%s", logged);
  config.worker_init_ns = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert(strstr(logged, "persistent_workers, prefetch_factor and worker_init_ms have no meaning"), "%s", logged);
  config.num_workers = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 3);
  config.io_spread = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 4);
  cr_assert(strstr(logged, "io_spread has no meaning with io_sleep_ms = 0"), "%s", logged);
  config.io_sleep_ns = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 4);
  train_rig_close(&rig);
}

/* ---- ends ---- */

static void *stop(void *loader) {
  data_loader_stop(loader);
  return NULL;
}

/* A sample sleeps an hour: only a stop or an end that wakes everybody lets these tests finish. */
PD_TEST(loader, a_stop_ends_the_wait) {
  train_rig rig;
  open_rig(&rig);
  for (int64_t workers = 0; workers <= 3; workers++) {
    data_config config = config_of(workers);
    config.io_sleep_ns = (int64_t)3600 * 1000000000;
    data_loader *loader = open_loader(&rig, &config);
    const pd_batch *batch;
    pthread_t thread;
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    cr_assert_eq(pthread_create(&thread, NULL, stop, loader), 0);
    cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
    data_loader_iter_end(loader);
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, a_close_wakes_sleeping_workers) {
  train_rig rig;
  open_rig(&rig);
  for (int persistent = 0; persistent <= 1; persistent++) {
    data_config config = config_of(3);
    config.io_sleep_ns = config.worker_init_ns = (int64_t)3600 * 1000000000;
    config.persistent_workers = persistent;
    data_loader *loader = open_loader(&rig, &config);
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    data_loader_close(loader);
  }
  data_loader_close(NULL);
  train_rig_close(&rig);
}

PD_TEST(loader, a_stop_ends_the_wait_for_workers_that_start) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(2);
  config.worker_init_ns = (int64_t)3600 * 1000000000;
  data_loader *loader = open_loader(&rig, &config);
  const pd_batch *batch;
  pthread_t thread;
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  cr_assert_eq(pthread_create(&thread, NULL, stop, loader), 0);
  cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  data_loader_close(loader);
  train_rig_close(&rig);
}

/* What reads were asked to take is what their shares say, whoever makes the batch. */
PD_TEST(loader, reads_that_vary_are_asked_for_one_by_one) {
  train_rig rig;
  open_rig(&rig);
  for (int64_t workers = 0; workers <= 2; workers += 2) {
    data_config config = config_of(workers);
    config.io_sleep_ns = 100000;
    config.cpu_ns = 1000;
    config.io_spread = 1;
    data_loader *loader = open_loader(&rig, &config);
    const dataset set = {.seed = config.seed};
    const pd_batch *batch;
    uint32_t order[64];
    sampler_shuffle(order, (uint32_t)config.dataset_size, config.seed, 1);
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < 3; i++) {
      int64_t asked_ns, measured_ns;
      double sum = 0;
      train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
      for (uint64_t k = 0; k < 4; k++) sum += 1e5 * dataset_read_share(&set, 1, order[4 * i + k], 1) + 1000;
      data_loader_dialled(loader, &asked_ns, &measured_ns);
      cr_assert_float_eq((double)asked_ns, sum, 4);
      cr_assert_geq(measured_ns, asked_ns / 2);
      expect_batch(&config, 1, i, batch);
    }
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, batches_ready_are_counted) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(2);
  data_loader *loader = open_loader(&rig, &config);
  const pd_batch *batch;
  cr_assert_eq(data_loader_ready(loader), 0);
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  while (data_loader_ready(loader) != 4) {} /* two workers, two batches each */
  train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
  while (data_loader_ready(loader) != 4) {} /* the place taken is filled again */
  data_loader_iter_end(loader);
  cr_assert_eq(data_loader_ready(loader), 0);
  data_loader_close(loader);
  train_rig_close(&rig);
}

/* ---- memory ---- */

static int host_allocs, host_frees, fail_at;
static pd_status (*device_host_alloc)(pd_device *, uint64_t, void **);
static pd_status (*device_host_free)(pd_device *, uint64_t, void *);
static pd_status counted_host_alloc(pd_device *device, uint64_t bytes, void **out) {
  *out = NULL;
  if (++host_allocs == fail_at) return PD_NO_MEMORY;
  return device_host_alloc(device, bytes, out);
}
static pd_status counted_host_free(pd_device *device, uint64_t bytes, void *data) {
  host_frees++;
  return device_host_free(device, bytes, data);
}

PD_TEST(loader, page_locked_buffers_are_recycled_and_given_back) {
  train_rig rig;
  open_rig(&rig);
  device_host_alloc = rig.memory.host_alloc;
  device_host_free = rig.memory.host_free;
  rig.memory.host_alloc = counted_host_alloc;
  rig.memory.host_free = counted_host_free;
  data_config config = config_of(2);
  config.pin_memory = true;
  expect_epochs(&rig, &config, 10, 0);
  cr_assert_eq(host_allocs, 2 * 2 + 1); /* prefetch of both workers, and the loop's */
  cr_assert_eq(host_frees, host_allocs);
  for (int n = 1; n <= 5; n++) {
    data_loader *loader = NULL;
    host_allocs = host_frees = 0;
    fail_at = n;
    cr_assert_eq(data_loader_open(&rig.host.host, &rig.access, rig.record, &config, &loader), PD_NO_MEMORY);
    cr_assert_null(loader);
    cr_assert_eq(host_frees, n - 1);
  }
  train_rig_close(&rig);
}

/* A page-locked batch may still be on its way to the device when the loop gives it back: whoever writes it again has to
 * wait for an event recorded behind the copy. */
static int events_recorded, events_waited;
static pd_status (*device_event_record)(pd_device *, pd_stream *, pd_event *);
static pd_status (*device_event_synchronize)(pd_device *, pd_event *);
static pd_status counted_event_record(pd_device *device, pd_stream *stream, pd_event *event) {
  events_recorded++;
  return device_event_record(device, stream, event);
}
static pd_status counted_event_synchronize(pd_device *device, pd_event *event) {
  events_waited++;
  return device_event_synchronize(device, event);
}

PD_TEST(loader, a_page_locked_buffer_is_not_written_before_its_copy_is_done) {
  train_rig rig;
  open_rig(&rig);
  pd_stream_ops streams = *rig.ops.stream;
  device_event_record = streams.event_record;
  device_event_synchronize = streams.event_synchronize;
  streams.event_record = counted_event_record;
  streams.event_synchronize = counted_event_synchronize;
  rig.ops.stream = &streams;
  data_config config = config_of(0);
  expect_epochs(&rig, &config, 10, 0);
  cr_assert_eq(events_recorded, 0); /* pageable: the copy is over when it returns */
  config.pin_memory = true;
  expect_epochs(&rig, &config, 10, 0);
  cr_assert_eq(events_recorded, 20);
  cr_assert_eq(events_waited, 20);
  train_rig_close(&rig);
}

/* ---- the batch after the current one ---- */

/* Waits for a worker to make the next batch. */
static void expect_peek(data_loader *loader, const data_config *config, uint64_t index) {
  pd_batch next;
  while (!data_loader_peek(loader, &next)) sched_yield();
  expect_batch(config, 1, index, &next);
  cr_assert_eq(next.count, config->batch_size);
  cr_assert_eq(next.pinned, config->pin_memory);
}

PD_TEST(loader, the_next_batch_is_seen_before_its_turn) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(2);
  config.pin_memory = true;
  data_loader *loader = open_loader(&rig, &config);
  const pd_batch *batch;
  pd_batch next;
  cr_assert_not(data_loader_peek(loader, &next)); /* no iterator */
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  expect_peek(loader, &config, 0);
  for (uint64_t i = 0; i < 10; i++) {
    train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
    expect_batch(&config, 1, i, batch);
    if (i == 9) break;
    expect_peek(loader, &config, i + 1);
    expect_batch(&config, 1, i, batch); /* the current one is as it was */
  }
  cr_assert_not(data_loader_peek(loader, &next)); /* the epoch is over */
  data_loader_close(loader);
  train_rig_close(&rig);
}

PD_TEST(loader, without_workers_only_resident_batches_are_known_ahead) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(0);
  const pd_batch *batch;
  pd_batch next;
  data_loader *loader = open_loader(&rig, &config);
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
  cr_assert_not(data_loader_peek(loader, &next));
  data_loader_close(loader);
  config.resident_batches = 3;
  for (data_resident where = DATA_RESIDENT_HOST; where <= DATA_RESIDENT_DEVICE; where++) {
    config.resident = where;
    loader = open_loader(&rig, &config);
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < 7; i++) {
      cr_assert(data_loader_peek(loader, &next));
      train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
      cr_assert(next.index == batch->index && next.images == batch->images && next.resident == batch->resident);
    }
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, a_copy_ahead_that_cannot_be_is_told) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(0);
  config.pin_memory = config.prefetch_to_device = true;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 1);
  cr_assert(strstr(logged, "prefetch_to_device has no meaning with num_workers = 0"), "%s", logged);
  config.num_workers = 2;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 1);
  config.resident = DATA_RESIDENT_DEVICE;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 2);
  cr_assert(strstr(logged, "prefetch_to_device has no meaning with resident = device"), "%s", logged);
  train_rig_close(&rig);
}

/* ---- what it records ---- */

PD_TEST(loader, persistent_workers_start_once) {
  train_rig rig;
  open_rig(&rig);
  for (int persistent = 0; persistent <= 1; persistent++) {
    data_config config = config_of(2);
    config.worker_init_ns = 1000000;
    config.persistent_workers = persistent;
    data_loader *loader = open_loader(&rig, &config);
    const pd_batch *batch;
    train_rig_trace_begin(&rig);
    train_rig_step_begin(&rig);
    for (int epoch = 0; epoch < 3; epoch++) {
      train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
      for (int i = 0; i < 2; i++) train_rig_ok(&rig, data_loader_next(loader, &batch), "next"); /* one of each */
      data_loader_iter_end(loader);
    }
    train_rig_step_end(&rig);
    pd_trace *trace = train_rig_trace_end(&rig);
    cr_assert_eq(trace_ranges(trace, "DataLoader worker: init"), persistent ? 2 : 6);
    trace_free(trace);
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, waits_workers_and_queue_are_in_the_trace) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(2);
  data_loader *loader = open_loader(&rig, &config);
  const pd_batch *batch;
  train_rig_trace_begin(&rig);
  train_rig_step_begin(&rig);
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  for (int i = 0; i < 10; i++) train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
  cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
  data_loader_iter_end(loader);
  train_rig_step_end(&rig);
  pd_trace *trace = train_rig_trace_end(&rig);
  const char *const wait = "enumerate(DataLoader)#_pdhost.__next__", *const work = "DataLoader worker: batch";
  cr_assert_eq(trace_ranges(trace, wait), 10);
  cr_assert_eq(trace_ranges(trace, work), 10);
  for (uint64_t i = 0; i < 10; i++) {
    const pd_range *range = trace_range(trace, wait, i);
    cr_assert(range->kind == PD_RANGE_DATALOADER && range->part == PD_PART_DATALOADER && range->thread == 0);
    range = trace_range(trace, work, i);
    cr_assert_eq(range->kind, PD_RANGE_WORKER);
    const char *name = pd_trace_string(trace, PD_AT(pd_thread, &trace->threads, range->thread)->name)->text;
    cr_assert(!strcmp(name, "pdhost loader 0") || !strcmp(name, "pdhost loader 1"), "%s", name);
  }
  cr_assert_eq(trace->counters.count, 20); /* one when a batch is made, one when it is taken */
  for (uint64_t i = 0; i < 20; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &trace->counters, i);
    cr_assert_str_eq(pd_trace_string(trace, row->name)->text, "DataLoader queue");
    cr_assert(row->value >= 0 && row->value <= 4);
  }
  trace_free(trace);
  data_loader_close(loader);
  train_rig_close(&rig);
}

PD_TEST(loader, a_delay_makes_each_batch_later_and_nothing_else) {
  train_rig rig;
  const pd_batch *batch;
  open_rig(&rig);
  for (int64_t workers = 0; workers <= 2; workers++) {
    const data_config config = config_of(workers);
    data_loader *loader = open_loader(&rig, &config);
    cr_assert(data_loader_delay(loader, 1000000));
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < 4; i++) {
      train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
      expect_batch(&config, 1, i, batch);
    }
    data_loader_iter_end(loader);
    cr_assert_geq(data_loader_delayed(loader), 1e6, "what makes two batches at once takes twice as long for each");
    cr_assert(data_loader_delay(loader, 0));
    cr_assert_eq(data_loader_delayed(loader), 0);
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}
