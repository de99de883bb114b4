/*
 * The data loader. Batch b of an epoch is made by worker b mod W into slot b mod S, S = W * prefetch_factor + 1, so
 * that every worker has prefetch_factor batches in flight while the loop holds one. The loop takes slots in order.
 */
#include "loader.h"

#include "dataset.h"
#include "sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* A stop request comes from a signal handler, which may not touch a condition: waits look up this often. */
#define LOOK_UP_NS 20000000

typedef enum slot_state { SLOT_FREE = 0, SLOT_FILLING = 1, SLOT_READY = 2, SLOT_TAKEN = 3 } slot_state;

typedef struct slot {
  slot_state state;
  pd_batch batch;
  float *images;
  int64_t *labels;
} slot;

typedef struct worker {
  data_loader *loader;
  pthread_t thread;
  int64_t number;
} worker;

struct data_loader {
  const pd_host *host;
  const pd_device_access *device;
  const pd_record *record;
  data_config config;
  uint64_t image_bytes, label_bytes; /* of one slot */
  slot *slots;
  uint32_t slot_count;
  uint32_t *order;
  uint64_t batches; /* of an epoch */
  worker *workers;
  int64_t started; /* workers whose threads run */
  int stop_fd;     /* eventfd: readable once a stop was asked for, so that sleeping workers wake */
  atomic_bool stop;
  atomic_uint ready;

  pthread_mutex_t lock; /* of what follows and of the slots' states */
  pthread_cond_t changed;
  bool quit;             /* workers end */
  atomic_bool iterating; /* an iterator is open: written under the lock, read without it between samples */
  uint64_t epoch;        /* of the iterator; 0 before the first */
  int64_t busy;          /* workers inside the iterator */
  uint64_t next;         /* batch the loop takes next */
  slot *taken;
  bool resident_made;
};

static void timed_wait(data_loader *loader) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_UP_NS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  (void)pthread_cond_timedwait(&loader->changed, &loader->lock, &until);
}

static bool ended(const data_loader *loader) {
  return atomic_load_explicit(&loader->stop, memory_order_relaxed) ||
         !atomic_load_explicit(&loader->iterating, memory_order_relaxed);
}

/* Sleeps io_sleep_ns, or until a stop is asked for. The end of the iterator is seen in slices. */
static void io_sleep(const data_loader *loader) {
  int64_t left = loader->config.io_sleep_ns;
  while (left > 0 && !ended(loader)) {
    const int64_t part = left > LOOK_UP_NS ? LOOK_UP_NS : left;
    const struct timespec timeout = {.tv_sec = 0, .tv_nsec = part};
    struct pollfd wake = {.fd = loader->stop_fd, .events = POLLIN};
    (void)ppoll(&wake, 1, &timeout, NULL);
    left -= part;
  }
}

/* Makes batch `index` of `epoch` in `slot`. False when it was broken off. */
static bool make_batch(data_loader *loader, slot *into, uint64_t index, uint64_t epoch) {
  const data_config *config = &loader->config;
  const uint64_t first = index * (uint64_t)config->batch_size;
  const uint64_t left = (uint64_t)config->dataset_size - first;
  const int64_t count = left < (uint64_t)config->batch_size ? (int64_t)left : config->batch_size;
  const int64_t pixels = 3 * config->image_size * config->image_size;
  for (int64_t i = 0; i < count; i++) {
    if (ended(loader)) return false;
    io_sleep(loader);
    dataset_sample(config, epoch, loader->order[first + (uint64_t)i], into->images + i * pixels, &into->labels[i]);
  }
  into->batch = (pd_batch){.size = sizeof into->batch,
                           .pinned = config->pin_memory,
                           .index = index,
                           .count = count,
                           .channels = 3,
                           .height = config->image_size,
                           .width = config->image_size,
                           .images = into->images,
                           .labels = into->labels};
  return true;
}

/* One worker's part of one epoch. The lock is held on entry and exit. */
static void work_epoch(data_loader *loader, int64_t number) {
  static pd_site site = PD_SITE("DataLoader worker: batch", PD_RANGE_WORKER);
  const uint64_t epoch = loader->epoch;
  for (uint64_t index = (uint64_t)number; index < loader->batches; index += (uint64_t)loader->config.num_workers) {
    slot *into = &loader->slots[index % loader->slot_count];
    /* Free, and it is this batch's turn: the loop has passed the batch that lay here before. */
    while (!loader->quit && !ended(loader) && !(into->state == SLOT_FREE && index < loader->next + loader->slot_count))
      timed_wait(loader);
    if (loader->quit || ended(loader)) return;
    into->state = SLOT_FILLING;
    pthread_mutex_unlock(&loader->lock);
    const bool begun = pd_range_begin(loader->record, &site, NULL);
    const bool made = make_batch(loader, into, index, epoch);
    pd_range_end(loader->record, begun);
    pthread_mutex_lock(&loader->lock);
    into->state = made ? SLOT_READY : SLOT_FREE;
    if (made) atomic_fetch_add(&loader->ready, 1);
    pthread_cond_broadcast(&loader->changed);
    if (!made) return;
  }
}

static void *work(void *argument) {
  worker *self = argument;
  data_loader *loader = self->loader;
  uint64_t done_epoch = 0;
  char name[32];
  snprintf(name, sizeof name, "pdhost loader %lld", (long long)self->number);
  loader->record->name_thread(loader->record, name);
  pthread_mutex_lock(&loader->lock);
  while (!loader->quit) {
    if (!loader->iterating || loader->epoch == done_epoch) {
      pthread_cond_wait(&loader->changed, &loader->lock);
      continue;
    }
    done_epoch = loader->epoch;
    loader->busy++;
    work_epoch(loader, self->number);
    loader->busy--;
    pthread_cond_broadcast(&loader->changed);
  }
  pthread_mutex_unlock(&loader->lock);
  return NULL;
}

static pd_status slot_alloc(data_loader *loader, slot *into) {
  const pd_memory_ops *memory = loader->device->ops->memory;
  void *images = NULL, *labels = NULL;
  pd_status status = PD_OK;
  if (loader->config.pin_memory) {
    status = memory->host_alloc(loader->device->device, loader->image_bytes, &images);
    if (status == PD_OK) status = memory->host_alloc(loader->device->device, loader->label_bytes, &labels);
  } else {
    images = aligned_alloc(64, (loader->image_bytes + 63) / 64 * 64);
    labels = aligned_alloc(64, (loader->label_bytes + 63) / 64 * 64);
    if (!images || !labels)
      status = loader->host->fail(loader->host, PD_NO_MEMORY, "data loader: no memory for a batch of %llu bytes",
                                  (unsigned long long)loader->image_bytes);
  }
  into->images = images;
  into->labels = labels;
  return status;
}

static void slot_free(data_loader *loader, slot *from) {
  const pd_memory_ops *memory = loader->device->ops->memory;
  if (loader->config.pin_memory) {
    if (from->images) (void)memory->host_free(loader->device->device, loader->image_bytes, from->images);
    if (from->labels) (void)memory->host_free(loader->device->device, loader->label_bytes, from->labels);
  } else {
    free(from->images);
    free(from->labels);
  }
}

static uint32_t slots_needed(const data_config *config) {
  if (config->resident != DATA_RESIDENT_NONE) return (uint32_t)config->resident_batches;
  return config->num_workers ? (uint32_t)(config->num_workers * config->prefetch_factor + 1) : 1;
}

pd_status data_loader_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                           const data_config *config, data_loader **out) {
  *out = NULL;
  data_loader *loader = calloc(1, sizeof *loader);
  if (!loader) return host->fail(host, PD_NO_MEMORY, "data loader: out of memory");
  loader->host = host;
  loader->device = device;
  loader->record = record;
  loader->config = *config;
  loader->stop_fd = -1;
  pthread_mutex_init(&loader->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&loader->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pd_status status = PD_OK;
  const uint64_t size = (uint64_t)config->dataset_size, batch = (uint64_t)config->batch_size;
  loader->batches = config->drop_last ? size / batch : (size + batch - 1) / batch;
  loader->image_bytes = batch * 3 * (uint64_t)(config->image_size * config->image_size) * sizeof(float);
  loader->label_bytes = batch * sizeof(int64_t);
  if (loader->batches == 0) {
    status = host->fail(host, PD_INVALID,
                        "[data] dataset_size = %lld holds no batch of %lld: make it larger or set drop_last = false",
                        (long long)config->dataset_size, (long long)config->batch_size);
    goto out;
  }
  if (config->num_workers == 0 && config->resident == DATA_RESIDENT_NONE &&
      (config->prefetch_factor != 2 || config->persistent_workers))
    host->log(host, PD_LOG_WARN, "[data] prefetch_factor and persistent_workers have no meaning with num_workers = 0");
  loader->slot_count = slots_needed(config);
  loader->slots = calloc(loader->slot_count, sizeof *loader->slots);
  loader->order = malloc(size * sizeof *loader->order);
  loader->workers = calloc((size_t)config->num_workers + 1, sizeof *loader->workers);
  loader->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (!loader->slots || !loader->order || !loader->workers || loader->stop_fd < 0)
    status = host->fail(host, PD_NO_MEMORY, "data loader: out of memory or file descriptors");
  for (uint32_t i = 0; status == PD_OK && i < loader->slot_count; i++) status = slot_alloc(loader, &loader->slots[i]);
out:
  if (status != PD_OK)
    data_loader_close(loader);
  else
    *out = loader;
  return status;
}

static void join_workers(data_loader *loader) {
  pthread_mutex_lock(&loader->lock);
  loader->quit = true;
  pthread_cond_broadcast(&loader->changed);
  pthread_mutex_unlock(&loader->lock);
  for (int64_t i = 0; i < loader->started; i++) pthread_join(loader->workers[i].thread, NULL);
  loader->started = 0;
  loader->quit = false;
}

void data_loader_close(data_loader *loader) {
  if (!loader) return;
  data_loader_iter_end(loader);
  join_workers(loader);
  for (uint32_t i = 0; loader->slots && i < loader->slot_count; i++) slot_free(loader, &loader->slots[i]);
  free(loader->slots);
  free(loader->order);
  free(loader->workers);
  if (loader->stop_fd >= 0) close(loader->stop_fd);
  pthread_mutex_destroy(&loader->lock);
  pthread_cond_destroy(&loader->changed);
  free(loader);
}

static pd_status start_workers(data_loader *loader) {
  while (loader->started < loader->config.num_workers) {
    worker *self = &loader->workers[loader->started];
    self->loader = loader;
    self->number = loader->started;
    const int cause = pthread_create(&self->thread, NULL, work, self);
    if (cause)
      return loader->host->fail(loader->host, PD_NO_MEMORY, "data loader: worker %lld cannot be started: %s",
                                (long long)self->number, strerror(cause));
    loader->started++;
  }
  return PD_OK;
}

pd_status data_loader_iter_begin(data_loader *loader) {
  const bool resident = loader->config.resident != DATA_RESIDENT_NONE;
  data_loader_iter_end(loader);
  pthread_mutex_lock(&loader->lock);
  for (uint32_t i = 0; i < loader->slot_count; i++) loader->slots[i].state = SLOT_FREE;
  atomic_store(&loader->ready, 0);
  loader->next = 0;
  loader->taken = NULL;
  loader->epoch++;
  if (!resident || !loader->resident_made)
    sampler_permute(loader->order, (uint64_t)loader->config.dataset_size, loader->config.seed, loader->epoch);
  atomic_store(&loader->iterating, true);
  pthread_cond_broadcast(&loader->changed);
  pthread_mutex_unlock(&loader->lock);
  if (!resident) return start_workers(loader);
  for (uint32_t i = 0; i < loader->slot_count && !loader->resident_made; i++) {
    if (!make_batch(loader, &loader->slots[i], i % loader->batches, loader->epoch)) return PD_OK;
    if (loader->config.resident == DATA_RESIDENT_DEVICE) loader->slots[i].batch.resident = i + 1;
  }
  loader->resident_made = true;
  return PD_OK;
}

void data_loader_iter_end(data_loader *loader) {
  pthread_mutex_lock(&loader->lock);
  atomic_store(&loader->iterating, false);
  pthread_cond_broadcast(&loader->changed);
  while (loader->busy) pthread_cond_wait(&loader->changed, &loader->lock);
  pthread_mutex_unlock(&loader->lock);
  if (!loader->config.persistent_workers) join_workers(loader);
}

static pd_status take_made(data_loader *loader, slot **out) {
  pd_status status = PD_OK;
  pthread_mutex_lock(&loader->lock);
  if (loader->taken) {
    loader->taken->state = SLOT_FREE;
    loader->taken = NULL;
    pthread_cond_broadcast(&loader->changed);
  }
  slot *wanted = &loader->slots[loader->next % loader->slot_count];
  while (wanted->state != SLOT_READY && !ended(loader)) timed_wait(loader);
  if (wanted->state == SLOT_READY) {
    wanted->state = SLOT_TAKEN;
    atomic_fetch_sub(&loader->ready, 1);
    loader->taken = wanted;
    loader->next++;
    pthread_cond_broadcast(&loader->changed);
    *out = wanted;
  } else {
    status = PD_STOP;
  }
  pthread_mutex_unlock(&loader->lock);
  return status;
}

static pd_status next_batch(data_loader *loader, const pd_batch **out) {
  slot *made = NULL;
  if (loader->next >= loader->batches || ended(loader)) return PD_STOP;
  if (loader->config.resident != DATA_RESIDENT_NONE) {
    made = &loader->slots[loader->next++ % loader->slot_count];
    if (!loader->resident_made) return PD_STOP;
  } else if (loader->config.num_workers == 0) {
    made = &loader->slots[0];
    if (!make_batch(loader, made, loader->next, loader->epoch)) return PD_STOP;
    loader->next++;
  } else {
    const pd_status status = take_made(loader, &made);
    if (status != PD_OK) return status;
  }
  *out = &made->batch;
  return PD_OK;
}

pd_status data_loader_next(data_loader *loader, const pd_batch **out) {
  static pd_site site = PD_SITE("enumerate(DataLoader)#_pdhost.__next__", PD_RANGE_DATALOADER);
  static uint32_t queue; /* interned once; every thread would store the same id */
  const pd_range_info info = {.size = sizeof info, .part = PD_PART_DATALOADER};
  *out = NULL;
  const bool begun = pd_range_begin(loader->record, &site, &info);
  const pd_status status = next_batch(loader, out);
  pd_range_end(loader->record, begun);
  if (begun && loader->config.num_workers && loader->config.resident == DATA_RESIDENT_NONE) {
    if (!queue) queue = loader->record->intern(loader->record, "DataLoader queue");
    loader->record->counter(loader->record, queue, (double)data_loader_ready(loader));
  }
  return status;
}

void data_loader_stop(data_loader *loader) {
  const uint64_t one = 1;
  const int kept = errno;
  atomic_store(&loader->stop, true);
  ssize_t written = write(loader->stop_fd, &one, sizeof one); /* only fails when it is set already */
  (void)written;
  errno = kept;
}

uint32_t data_loader_ready(const data_loader *loader) { return atomic_load(&loader->ready); }
