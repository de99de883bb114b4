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
static void warn_of_worker_keys(const data_loader *l) {
  const struct {
    const char *key;
    bool given;
  } rows[] = {{"persistent_workers", l->config.persistent_workers},
              {"prefetch_factor", l->config.prefetch_factor != 2},
              {"worker_init_ms", l->config.worker_init_ns > 0}};
  const char *keys[sizeof rows / sizeof rows[0]] = {NULL};
  int count = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].given) keys[count++] = rows[i].key;
  if (!count) return;
  l->host->log(l->host, PD_LOG_WARN,
               "[data] %s%s%s%s%s %s no meaning with num_workers = 0: batches are made in the loop's own thread",
               keys[0], count > 2 ? ", " : "", count > 2 ? keys[1] : "", count > 1 ? " and " : "",
               count > 1 ? keys[count - 1] : "", count > 1 ? "have" : "has");
}

static void warn_of_unused_keys(const data_loader *l) {
  const data_config *config = &l->config;
  if (config->prefetch_to_device && config->resident == DATA_RESIDENT_DEVICE)
    l->host->log(l->host, PD_LOG_WARN,
                 "[data] prefetch_to_device has no meaning with resident = device: every batch is there already");
  if (config->prefetch_to_device && config->num_workers == 0 && config->resident == DATA_RESIDENT_NONE)
    l->host->log(l->host, PD_LOG_WARN,
                 "[data] prefetch_to_device has no meaning with num_workers = 0: no batch is made ahead of its step");
  if (config->resident != DATA_RESIDENT_NONE) return;
  if (config->io_spread > 0 && config->io_sleep_ns == 0)
    l->host->log(l->host, PD_LOG_WARN, "[data] io_spread has no meaning with io_sleep_ms = 0: no read takes any time");
  if (config->num_workers == 0) warn_of_worker_keys(l);
}

/* Sleeps in the caller's thread; a stop request ends it. */
static bool own_pause(void *state, int64_t sleep_ns) {
  static pd_site site = PD_SITE("DataLoader worker: read", PD_RANGE_WORKER);
  data_loader *l = state;
  if (sleep_ns > 0 && !atomic_load(&l->stop)) {
    const bool begun = pd_range_begin(l->record, &site, NULL);
    const struct timespec until = pd_clock_after(CLOCK_MONOTONIC, sleep_ns);
    while (sem_clockwait(&l->stopped, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {}
    pd_range_end(l->record, begun);
  }
  return !atomic_load(&l->stop);
}

/* A new order. Batch k of all ranks together is as one rank with their batch sizes in one would have it; each takes its
 * part of it. */
static void shuffle(data_loader *l, uint64_t epoch) {
  const data_config *config = &l->config;
  sampler_shuffle(l->order, (uint32_t)config->dataset_size, config->seed, epoch);
  const uint64_t size = (uint64_t)config->batch_size;
  if (config->ranks < 2) return;
  for (uint64_t batch = 0; batch < l->plan.batches; batch++)
    for (uint64_t i = 0; i < size; i++)
      l->order[batch * size + i] = l->order[(batch * config->ranks + config->rank) * size + i];
}

/* Makes the resident set from the first epoch's order. */
static pd_status make_residents(data_loader *l) {
  char doing[96];
  const data_config *config = &l->config;
  uint64_t count = config->resident_batches > 0 ? (uint64_t)config->resident_batches : 1;
  if (count > l->plan.batches) count = l->plan.batches;
  l->residents = calloc(count, sizeof *l->residents);
  l->resident_samples = calloc(count, sizeof *l->resident_samples);
  if (!l->residents || !l->resident_samples)
    return l->host->fail(l->host, PD_NO_MEMORY, "[data]: no memory for %" PRIu64 " resident batches", count);
  shuffle(l, 0);
  for (; l->resident_count < count; l->resident_count++) {
    snprintf(doing, sizeof doing, "making %" PRIu64 " resident batches, %" PRIu64 " done", count, l->resident_count);
    pd_progress_doing(l->host, doing);
    batch_buffer *buffer = &l->residents[l->resident_count];
    const pd_status status = batch_buffer_open(l->host, l->device, config, buffer);
    if (status != PD_OK) return status;
    l->resident_samples[l->resident_count] =
        batch_make(&l->set, config, &l->plan, l->resident_count, buffer, own_pause, l);
  }
  pd_progress_doing(l->host, NULL);
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
  data_loader *l = calloc(1, sizeof *l);
  if (!l) return host->fail(host, PD_NO_MEMORY, "[data]: no memory for the loader");
  l->host = host;
  l->device = device;
  l->record = record;
  l->config = *config;
  l->set = (dataset){.seed = config->seed, .image_size = config->image_size, .cpu_work = config->cpu_work};
  sem_init(&l->stopped, 0, 0);
  l->order = malloc(samples * sizeof *l->order);
  l->plan = (epoch_plan){.order = l->order, .samples = ranks > 1 ? batches * size : samples, .batches = batches};
  pd_status status = PD_OK;
  if (!l->order)
    status = host->fail(host, PD_NO_MEMORY, "[data]: no memory for the order of %" PRIu64 " samples", samples);
  else if (config->resident != DATA_RESIDENT_NONE)
    status = make_residents(l);
  else if (config->num_workers > 0)
    status = workers_open(host, device, record, config, &l->set, &l->workers);
  else
    status = batch_buffer_open(host, device, config, &l->own);
  if (status != PD_OK) {
    data_loader_close(l);
    return status;
  }
  warn_of_unused_keys(l);
  *out = l;
  return PD_OK;
}

void data_loader_close(data_loader *l) {
  if (!l) return;
  data_loader_iter_end(l);
  workers_close(l->workers);
  batch_buffer_close(l->device, &l->own);
  for (uint64_t i = 0; l->residents && i < l->resident_count; i++) batch_buffer_close(l->device, &l->residents[i]);
  free(l->residents);
  free(l->resident_samples);
  free(l->order);
  sem_destroy(&l->stopped);
  free(l);
}

pd_status data_loader_iter_begin(data_loader *l) {
  data_loader_iter_end(l);
  l->next = 0;
  l->plan.epoch++;
  l->iterating = true;
  if (l->config.resident != DATA_RESIDENT_NONE) return PD_OK;
  shuffle(l, l->plan.epoch);
  if (!l->workers) return PD_OK;
  const pd_status status = workers_begin(l->workers, &l->plan);
  if (status != PD_OK) l->iterating = false;
  return status;
}

static pd_status give_back(data_loader *l) {
  batch_buffer *held = l->held;
  l->held = NULL;
  if (!held) return PD_OK;
  return l->workers ? workers_give_back(l->workers, held) : batch_buffer_release(l->device, held);
}

void data_loader_iter_end(data_loader *l) {
  if (!l->iterating) return;
  l->iterating = false;
  /* Where the device fails here, its next synchronisation says so. */
  (void)give_back(l);
  if (l->workers) workers_end(l->workers);
}

static void describe(const data_loader *l, const batch_buffer *buffer, int64_t count, pd_batch *out) {
  *out = (pd_batch){.size = sizeof *out,
                    .pinned = buffer->pinned,
                    .count = count,
                    .channels = DATASET_CHANNELS,
                    .height = l->config.image_size,
                    .width = l->config.image_size,
                    .images = buffer->images,
                    .labels = buffer->labels};
}

bool data_loader_resident(const data_loader *l, uint64_t index, pd_batch *out) {
  if (l->config.resident != DATA_RESIDENT_DEVICE || index >= l->resident_count) return false;
  describe(l, &l->residents[index], l->resident_samples[index], out);
  out->resident = index + 1;
  return true;
}

/* The next batch's memory and samples. */
static pd_status obtain(data_loader *l, batch_buffer **buffer, int64_t *count) {
  if (l->residents) {
    const uint64_t at = l->next % l->resident_count;
    *buffer = &l->residents[at];
    *count = l->resident_samples[at];
    return PD_OK;
  }
  if (l->workers) {
    const pd_status status = workers_take(l->workers, buffer, count);
    l->held = status == PD_STOP ? NULL : *buffer;
    return status;
  }
  const pd_status status = batch_buffer_reclaim(l->device, &l->own);
  if (status != PD_OK) return status;
  *buffer = l->held = &l->own;
  static pd_site site = PD_SITE("DataLoader worker: batch", PD_RANGE_WORKER);
  const bool begun = pd_range_begin(l->record, &site, NULL);
  *count = batch_make(&l->set, &l->config, &l->plan, l->next, &l->own, own_pause, l);
  pd_range_end(l->record, begun);
  return atomic_load(&l->stop) ? PD_STOP : PD_OK;
}

pd_status data_loader_next(data_loader *l, const pd_batch **out) {
  static pd_site site = PD_SITE("enumerate(DataLoader)#_pdhost.__next__", PD_RANGE_DATALOADER);
  const pd_range_info info = {.size = sizeof info, .part = PD_PART_DATALOADER};
  *out = NULL;
  if (!l->iterating) return l->host->fail(l->host, PD_INVALID, "data loader: no iterator has begun");
  pd_status status = give_back(l);
  if (status != PD_OK) return status;
  if (l->next >= l->plan.batches || atomic_load(&l->stop)) return PD_STOP;
  batch_buffer *buffer = NULL;
  int64_t count = 0;
  const bool begun = pd_range_begin(l->record, &site, &info);
  status = obtain(l, &buffer, &count);
  pd_range_end(l->record, begun);
  if (status != PD_OK) return status;
  l->delayed_ns += buffer->delayed_ns;
  l->delayed_batches++;
  describe(l, buffer, count, &l->batch);
  l->batch.resident = l->config.resident == DATA_RESIDENT_DEVICE ? l->next % l->resident_count + 1 : 0;
  l->batch.index = l->next++;
  *out = &l->batch;
  return PD_OK;
}

void data_loader_inject(data_loader *l, bool inject) {
  l->config.control = !inject;
  if (l->workers) workers_inject(l->workers, inject);
}

/* Batches that are made at the same time. */
static int64_t makers(const data_loader *l) { return l->workers ? l->config.num_workers : 1; }

bool data_loader_delay(data_loader *l, int64_t ns) {
  if (l->residents) return false;
  l->delayed_ns = 0;
  l->delayed_batches = 0;
  l->config.delay_ns = ns * makers(l);
  if (l->workers) workers_delay(l->workers, l->config.delay_ns);
  return true;
}

double data_loader_delayed(const data_loader *l) {
  return l->delayed_batches ? (double)l->delayed_ns / (double)makers(l) / (double)l->delayed_batches : 0;
}

void data_loader_dialled(const data_loader *l, int64_t *asked_ns, int64_t *measured_ns) {
  *asked_ns = l->held ? l->held->asked_ns : 0;
  *measured_ns = l->held ? l->held->dialled_ns : 0;
}

bool data_loader_is_dialled(const data_loader *l) {
  return !l->residents && (l->config.io_sleep_ns > 0 || l->config.cpu_ns > 0);
}

uint64_t data_loader_ahead(const data_loader *l) {
  return l->workers ? (uint64_t)(l->config.num_workers * l->config.prefetch_factor) : 0;
}

bool data_loader_peek(const data_loader *l, pd_batch *out) {
  batch_buffer *buffer = NULL;
  int64_t count = 0;
  if (!l->iterating || l->next >= l->plan.batches || atomic_load(&l->stop)) return false;
  if (l->residents) {
    const uint64_t at = l->next % l->resident_count;
    buffer = &l->residents[at];
    count = l->resident_samples[at];
  } else if (!l->workers || !workers_peek(l->workers, &buffer, &count)) {
    return false;
  }
  describe(l, buffer, count, out);
  if (l->config.resident == DATA_RESIDENT_DEVICE) out->resident = l->next % l->resident_count + 1;
  out->index = l->next;
  return true;
}

void data_loader_stop(data_loader *l) {
  atomic_store(&l->stop, true);
  sem_post(&l->stopped);
  if (l->workers) workers_stop(l->workers);
}

uint32_t data_loader_ready(const data_loader *l) { return l->workers ? workers_ready(l->workers) : 0; }
