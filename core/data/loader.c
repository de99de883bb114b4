/* See loader.h. Batches come from one of three places: the resident set, the workers, or the caller's own thread. */
#include "loader.h"

#include "batch_buffer.h"
#include "dataset.h"
#include "sampler.h"
#include "workers.h"

#include <pdhost/clocks.h>
#include <pdhost/progress.h>

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct data_loader {
  const pd_host *host;
  const pd_device_access *device;
  const pd_record *record;
  data_config config;
  dataset set;
  uint32_t *order; /* (dataset_size), of this epoch */
  epoch_plan plan;
  uint64_t next; /* batch of this epoch */
  bool iterating;
  pd_batch batch;            /* the loop's */
  workers *workers;          /* NULL: resident, or num_workers = 0 */
  batch_buffer own;          /* num_workers = 0 */
  batch_buffer *held;        /* of `batch`; NULL: nothing to give back */
  batch_buffer *residents;   /* (resident_count) */
  int64_t *resident_samples; /* (resident_count) */
  uint64_t resident_count;
  sem_t stopped;      /* ends a sleep in the caller's thread */
  int64_t delayed_ns; /* of all batches since data_loader_delay, added up */
  uint64_t delayed_batches;
  atomic_bool stop;
};

/* "persistent_workers, prefetch_factor and worker_init_ms have no meaning ..." */
static void warn_of_worker_keys(const data_loader *self) {
  const struct {
    const char *key;
    bool given;
  } rows[] = {{"persistent_workers", self->config.persistent_workers},
              {"prefetch_factor", self->config.prefetch_factor != 2},
              {"worker_init_ms", self->config.worker_init_ns > 0}};
  const char *keys[sizeof rows / sizeof rows[0]] = {NULL};
  int count = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].given) keys[count++] = rows[i].key;
  if (!count) return;
  self->host->log(self->host, PD_LOG_WARN,
                  "[data] %s%s%s%s%s %s no meaning with num_workers = 0: batches are made in the loop's own thread",
                  keys[0], count > 2 ? ", " : "", count > 2 ? keys[1] : "", count > 1 ? " and " : "",
                  count > 1 ? keys[count - 1] : "", count > 1 ? "have" : "has");
}

static void warn_of_unused_keys(const data_loader *self) {
  const data_config *config = &self->config;
  if (config->prefetch_to_device && config->resident == DATA_RESIDENT_DEVICE)
    self->host->log(self->host, PD_LOG_WARN,
                    "[data] prefetch_to_device has no meaning with resident = device: every batch is there already");
  if (config->prefetch_to_device && config->num_workers == 0 && config->resident == DATA_RESIDENT_NONE)
    self->host->log(
        self->host, PD_LOG_WARN,
        "[data] prefetch_to_device has no meaning with num_workers = 0: no batch is made ahead of its step");
  if (config->resident != DATA_RESIDENT_NONE) return;
  if (config->io_spread > 0 && config->io_sleep_ns == 0)
    self->host->log(self->host, PD_LOG_WARN,
                    "[data] io_spread has no meaning with io_sleep_ms = 0: no read takes any time");
  if (config->num_workers == 0) warn_of_worker_keys(self);
}

/* Sleeps in the caller's thread; a stop request ends it. */
static bool own_pause(void *state, int64_t sleep_ns) {
  static pd_site site = PD_SITE("DataLoader worker: read", PD_RANGE_WORKER);
  data_loader *self = state;
  if (sleep_ns > 0 && !atomic_load(&self->stop)) {
    const bool begun = pd_range_begin(self->record, &site, NULL);
    const struct timespec until = pd_clock_after(CLOCK_MONOTONIC, sleep_ns);
    while (sem_clockwait(&self->stopped, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {}
    pd_range_end(self->record, begun);
  }
  return !atomic_load(&self->stop);
}

/* A new order. Batch k of all ranks together is as one rank with their batch sizes in one would have it; each takes its
 * part of it. */
static void shuffle(data_loader *self, uint64_t epoch) {
  const data_config *config = &self->config;
  sampler_shuffle(self->order, (uint32_t)config->dataset_size, config->seed, epoch);
  const uint64_t size = (uint64_t)config->batch_size;
  if (config->ranks < 2) return;
  for (uint64_t batch = 0; batch < self->plan.batches; batch++)
    for (uint64_t i = 0; i < size; i++)
      self->order[batch * size + i] = self->order[(batch * config->ranks + config->rank) * size + i];
}

/* Makes the resident set from the first epoch's order. */
static pd_status make_residents(data_loader *self) {
  char doing[96];
  const data_config *config = &self->config;
  uint64_t count = config->resident_batches > 0 ? (uint64_t)config->resident_batches : 1;
  if (count > self->plan.batches) count = self->plan.batches;
  self->residents = calloc(count, sizeof *self->residents);
  self->resident_samples = calloc(count, sizeof *self->resident_samples);
  if (!self->residents || !self->resident_samples)
    return self->host->fail(self->host, PD_NO_MEMORY, "[data]: no memory for %" PRIu64 " resident batches", count);
  shuffle(self, 0);
  for (; self->resident_count < count; self->resident_count++) {
    snprintf(doing, sizeof doing, "making %" PRIu64 " resident batches, %" PRIu64 " done", count, self->resident_count);
    pd_progress_doing(self->host, doing);
    batch_buffer *buffer = &self->residents[self->resident_count];
    const pd_status status = batch_buffer_open(self->host, self->device, config, buffer);
    if (status != PD_OK) return status;
    self->resident_samples[self->resident_count] =
        batch_make(&self->set, config, &self->plan, self->resident_count, buffer, own_pause, self);
  }
  pd_progress_doing(self->host, NULL);
  return PD_OK;
}

pd_status data_loader_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                           const data_config *config, data_loader **out) {
  *out = NULL;
  const uint64_t samples = (uint64_t)config->dataset_size, size = (uint64_t)config->batch_size;
  if (samples > UINT32_MAX)
    return host->fail(host, PD_INVALID, "[data] dataset_size = %" PRIu64 ": at most %" PRIu32, samples, UINT32_MAX);
  const uint64_t ranks = config->ranks > 1 ? config->ranks : 1;
  /* Ranks do as many steps as one another: what is left over at the end is left out. */
  const uint64_t batches = config->drop_last || ranks > 1 ? samples / (size * ranks) : (samples + size - 1) / size;
  if (!batches && ranks > 1)
    return host->fail(host, PD_INVALID,
                      "[data] dataset_size = %" PRIu64 " is less than one batch of %" PRIu64 " on each of %" PRIu64
                      " ranks; raise it, or lower batch_size",
                      samples, size, ranks);
  if (!batches)
    return host->fail(host, PD_INVALID,
                      "[data] batch_size = %" PRIu64 " is more than dataset_size = %" PRIu64
                      " and drop_last leaves no batch; lower batch_size",
                      size, samples);
  data_loader *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "[data]: no memory for the loader");
  self->host = host;
  self->device = device;
  self->record = record;
  self->config = *config;
  self->set = (dataset){.seed = config->seed, .image_size = config->image_size, .cpu_work = config->cpu_work};
  sem_init(&self->stopped, 0, 0);
  self->order = malloc(samples * sizeof *self->order);
  self->plan = (epoch_plan){.order = self->order, .samples = ranks > 1 ? batches * size : samples, .batches = batches};
  pd_status status = PD_OK;
  if (!self->order)
    status = host->fail(host, PD_NO_MEMORY, "[data]: no memory for the order of %" PRIu64 " samples", samples);
  else if (config->resident != DATA_RESIDENT_NONE)
    status = make_residents(self);
  else if (config->num_workers > 0)
    status = workers_open(host, device, record, config, &self->set, &self->workers);
  else
    status = batch_buffer_open(host, device, config, &self->own);
  if (status != PD_OK) {
    data_loader_close(self);
    return status;
  }
  warn_of_unused_keys(self);
  *out = self;
  return PD_OK;
}

void data_loader_close(data_loader *self) {
  if (!self) return;
  data_loader_iter_end(self);
  workers_close(self->workers);
  batch_buffer_close(self->device, &self->own);
  for (uint64_t i = 0; self->residents && i < self->resident_count; i++)
    batch_buffer_close(self->device, &self->residents[i]);
  free(self->residents);
  free(self->resident_samples);
  free(self->order);
  sem_destroy(&self->stopped);
  free(self);
}

pd_status data_loader_iter_begin(data_loader *self) {
  data_loader_iter_end(self);
  self->next = 0;
  self->plan.epoch++;
  self->iterating = true;
  if (self->config.resident != DATA_RESIDENT_NONE) return PD_OK;
  shuffle(self, self->plan.epoch);
  if (!self->workers) return PD_OK;
  const pd_status status = workers_begin(self->workers, &self->plan);
  if (status != PD_OK) self->iterating = false;
  return status;
}

static pd_status give_back(data_loader *self) {
  batch_buffer *held = self->held;
  self->held = NULL;
  if (!held) return PD_OK;
  return self->workers ? workers_give_back(self->workers, held) : batch_buffer_release(self->device, held);
}

void data_loader_iter_end(data_loader *self) {
  if (!self->iterating) return;
  self->iterating = false;
  /* Where the device fails here, its next synchronisation says so. */
  (void)give_back(self);
  if (self->workers) workers_end(self->workers);
}

static void describe(const data_loader *self, const batch_buffer *buffer, int64_t count, pd_batch *out) {
  *out = (pd_batch){.size = sizeof *out,
                    .pinned = buffer->pinned,
                    .count = count,
                    .channels = DATASET_CHANNELS,
                    .height = self->config.image_size,
                    .width = self->config.image_size,
                    .images = buffer->images,
                    .labels = buffer->labels};
}

bool data_loader_resident(const data_loader *self, uint64_t index, pd_batch *out) {
  if (self->config.resident != DATA_RESIDENT_DEVICE || index >= self->resident_count) return false;
  describe(self, &self->residents[index], self->resident_samples[index], out);
  out->resident = index + 1;
  return true;
}

/* The next batch's memory and samples. */
static pd_status obtain(data_loader *self, batch_buffer **buffer, int64_t *count) {
  if (self->residents) {
    const uint64_t at = self->next % self->resident_count;
    *buffer = &self->residents[at];
    *count = self->resident_samples[at];
    return PD_OK;
  }
  if (self->workers) {
    const pd_status status = workers_take(self->workers, buffer, count);
    self->held = status == PD_STOP ? NULL : *buffer;
    return status;
  }
  const pd_status status = batch_buffer_reclaim(self->device, &self->own);
  if (status != PD_OK) return status;
  *buffer = self->held = &self->own;
  static pd_site site = PD_SITE("DataLoader worker: batch", PD_RANGE_WORKER);
  const bool begun = pd_range_begin(self->record, &site, NULL);
  *count = batch_make(&self->set, &self->config, &self->plan, self->next, &self->own, own_pause, self);
  pd_range_end(self->record, begun);
  return atomic_load(&self->stop) ? PD_STOP : PD_OK;
}

pd_status data_loader_next(data_loader *self, const pd_batch **out) {
  static pd_site site = PD_SITE("enumerate(DataLoader)#_pdhost.__next__", PD_RANGE_DATALOADER);
  const pd_range_info info = {.size = sizeof info, .part = PD_PART_DATALOADER};
  *out = NULL;
  if (!self->iterating) return self->host->fail(self->host, PD_INVALID, "data loader: no iterator has begun");
  pd_status status = give_back(self);
  if (status != PD_OK) return status;
  if (self->next >= self->plan.batches || atomic_load(&self->stop)) return PD_STOP;
  batch_buffer *buffer = NULL;
  int64_t count = 0;
  const bool begun = pd_range_begin(self->record, &site, &info);
  status = obtain(self, &buffer, &count);
  pd_range_end(self->record, begun);
  if (status != PD_OK) return status;
  self->delayed_ns += buffer->delayed_ns;
  self->delayed_batches++;
  describe(self, buffer, count, &self->batch);
  self->batch.resident = self->config.resident == DATA_RESIDENT_DEVICE ? self->next % self->resident_count + 1 : 0;
  self->batch.index = self->next++;
  *out = &self->batch;
  return PD_OK;
}

void data_loader_inject(data_loader *self, bool inject) {
  self->config.control = !inject;
  if (self->workers) workers_inject(self->workers, inject);
}

/* Batches that are made at the same time. */
static int64_t makers(const data_loader *self) { return self->workers ? self->config.num_workers : 1; }

bool data_loader_delay(data_loader *self, int64_t ns) {
  if (self->residents) return false;
  self->delayed_ns = 0;
  self->delayed_batches = 0;
  self->config.delay_ns = ns * makers(self);
  if (self->workers) workers_delay(self->workers, self->config.delay_ns);
  return true;
}

double data_loader_delayed(const data_loader *self) {
  return self->delayed_batches ? (double)self->delayed_ns / (double)makers(self) / (double)self->delayed_batches : 0;
}

void data_loader_dialled(const data_loader *self, int64_t *asked_ns, int64_t *measured_ns) {
  *asked_ns = self->held ? self->held->asked_ns : 0;
  *measured_ns = self->held ? self->held->dialled_ns : 0;
}

bool data_loader_is_dialled(const data_loader *self) {
  return !self->residents && (self->config.io_sleep_ns > 0 || self->config.cpu_ns > 0);
}

uint64_t data_loader_ahead(const data_loader *self) {
  return self->workers ? (uint64_t)(self->config.num_workers * self->config.prefetch_factor) : 0;
}

uint64_t data_loader_bytes(const data_loader *self) {
  uint64_t bytes = self->own.bytes + (self->workers ? workers_bytes(self->workers) : 0);
  for (uint64_t i = 0; i < self->resident_count; i++) bytes += self->residents[i].bytes;
  return bytes;
}

bool data_loader_peek(const data_loader *self, pd_batch *out) {
  batch_buffer *buffer = NULL;
  int64_t count = 0;
  if (!self->iterating || self->next >= self->plan.batches || atomic_load(&self->stop)) return false;
  if (self->residents) {
    const uint64_t at = self->next % self->resident_count;
    buffer = &self->residents[at];
    count = self->resident_samples[at];
  } else if (!self->workers || !workers_peek(self->workers, &buffer, &count)) {
    return false;
  }
  describe(self, buffer, count, out);
  if (self->config.resident == DATA_RESIDENT_DEVICE) out->resident = self->next % self->resident_count + 1;
  out->index = self->next;
  return true;
}

void data_loader_stop(data_loader *self) {
  atomic_store(&self->stop, true);
  sem_post(&self->stopped);
  if (self->workers) workers_stop(self->workers);
}

uint32_t data_loader_ready(const data_loader *self) { return self->workers ? workers_ready(self->workers) : 0; }
