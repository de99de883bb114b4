/* The data loader's ends: stops, failures of a worker, and the memory of its batches. */
#include "loader_rig.h"

#include <pthread.h>

/* ---- ends ---- */

static void *stop(void *loader) {
  data_loader_stop(loader);
  return NULL;
}

/* Another thread's stop ends the wait for the first batch. */
static void expect_stopped(train_rig *rig, data_loader *loader) {
  const pd_batch *batch;
  pthread_t thread;
  train_rig_ok(rig, data_loader_iter_begin(loader), "iter_begin");
  cr_assert_eq(pthread_create(&thread, NULL, stop, loader), 0);
  cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
  cr_assert_eq(pthread_join(thread, NULL), 0);
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
    expect_stopped(&rig, loader);
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
  expect_stopped(&rig, loader);
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
