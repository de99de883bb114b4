/* See workers.h. One lock guards the ring; a batch takes milliseconds to make, so no thread waits long for the lock. */
#include "workers.h"

#include "base/monotonic.h"

#include <pdhost/clocks.h>
#include <pdhost/thread_start.h>

#include <errno.h>
#include <math.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct slot {
  batch_buffer buffer;
  uint64_t made;    /* number of the batch in it plus 1; 0: none */
  int64_t count;    /* its samples */
  pd_status status; /* of making it */
} slot;

typedef struct worker {
  workers *shared;
  uint32_t number;
  bool started;
  pthread_t thread;
} worker;

struct workers {
  const pd_host *host;
  const pd_device_access *device;
  const pd_record *record;
  data_config config;
  dataset set;
  pthread_mutex_t lock;
  pthread_cond_t work; /* something to do, or an end; workers wait for it */
  pthread_cond_t idle; /* a worker has stopped making a batch */
  sem_t finished;      /* posted for every batch made, and by workers_stop() */
  worker *all;
  slot *slots;
  uint64_t worker_count, slot_count;
  /* under the lock */
  epoch_plan plan;
  uint64_t generation; /* of the plan; 0: none yet */
  uint64_t taken;      /* batches the loop has had */
  uint64_t busy;       /* workers making a batch */
  bool active;         /* the plan is to be worked on */
  bool quit;
  atomic_bool leave; /* the batches in the making are not wanted: read without the lock */
  atomic_bool stop;
  atomic_uint ready;
};

/* The augment loop for a time, not a count. */
static void work_until(int64_t until_ns) {
  while (monotonic_ns() < until_ns) (void)dataset_augment(8);
}

int64_t batch_make(const dataset *set, const data_config *config, const epoch_plan *plan, uint64_t index,
                   batch_buffer *buffer, batch_pause pause, void *state) {
  const uint64_t size = (uint64_t)config->batch_size, first = index * size;
  const uint64_t count = plan->samples - first < size ? plan->samples - first : size;
  const int64_t pixels = dataset_image_count(set);
  const int64_t sleep_ns = config->control ? 0 : config->io_sleep_ns, work_ns = config->control ? 0 : config->cpu_ns;
  const dataset own = {
      .seed = set->seed, .image_size = set->image_size, .cpu_work = config->control ? 0 : set->cpu_work};
  int64_t owed_ns = 0; /* of the batch's sleep and work; below 0 where they took too long */
  buffer->dialled_ns = buffer->asked_ns = buffer->delayed_ns = 0;
  for (uint64_t i = 0; i < count; i++) {
    const int64_t start_ns = monotonic_ns();
    const double share = dataset_read_share(set, plan->epoch, plan->order[first + i], config->io_spread);
    const int64_t read_ns = (int64_t)llround((double)sleep_ns * share);
    owed_ns += read_ns;
    buffer->asked_ns += read_ns + work_ns;
    if (!pause(state, owed_ns > 0 && sleep_ns ? owed_ns : 0)) return (int64_t)i;
    const int64_t awake_ns = monotonic_ns();
    owed_ns -= awake_ns - start_ns;
    if (work_ns) {
      owed_ns += work_ns;
      work_until(awake_ns + owed_ns);
      owed_ns -= monotonic_ns() - awake_ns;
    }
    buffer->dialled_ns += monotonic_ns() - start_ns;
    dataset_sample(&own, plan->epoch, plan->order[first + i], buffer->images + (int64_t)i * pixels, &buffer->labels[i]);
  }
  if (config->delay_ns > 0) {
    const int64_t start_ns = monotonic_ns();
    (void)pause(state, config->delay_ns);
    buffer->delayed_ns = monotonic_ns() - start_ns;
  }
  return (int64_t)count;
}

static bool worker_pause(void *state, int64_t sleep_ns) {
  static pd_site site = PD_SITE("DataLoader worker: read", PD_RANGE_WORKER);
  workers *self = state;
  if (sleep_ns > 0 && !atomic_load_explicit(&self->leave, memory_order_relaxed)) {
    const bool begun = pd_range_begin(self->record, &site, NULL);
    const struct timespec until = pd_clock_after(CLOCK_MONOTONIC, sleep_ns);
    /* A sleep that an end of the epoch cuts short. */
    pthread_mutex_lock(&self->lock);
    while (self->active && !self->quit && pthread_cond_timedwait(&self->work, &self->lock, &until) != ETIMEDOUT) {}
    pthread_mutex_unlock(&self->lock);
    pd_range_end(self->record, begun);
  }
  return !atomic_load_explicit(&self->leave, memory_order_relaxed);
}

static void sample_queue(const workers *self) {
  static pd_site site = PD_SITE("DataLoader queue", PD_RANGE_WORKER);
  if (!pd_record_on(self->record)) return;
  self->record->counter(self->record, self->record->intern(self->record, site.text), (double)atomic_load(&self->ready));
}

/* Makes batch `index`; the lock is not held. */
static pd_status make(workers *self, const epoch_plan *plan, uint64_t index, slot *at, int64_t *count) {
  static pd_site site = PD_SITE("DataLoader worker: batch", PD_RANGE_WORKER);
  const pd_status status =
      batch_buffer_reclaim(self->device, &at->buffer); /* waits for the device, and makes nothing */
  if (status != PD_OK) return status;
  const bool begun = pd_range_begin(self->record, &site, NULL);
  *count = batch_make(&self->set, &self->config, plan, index, &at->buffer, worker_pause, self);
  pd_range_end(self->record, begun);
  return PD_OK;
}

/* What a worker does once, before it takes work; an end of all workers cuts it short. The lock is held. */
static void start_up(workers *self) {
  static pd_site site = PD_SITE("DataLoader worker: init", PD_RANGE_WORKER);
  if (self->config.worker_init_ns <= 0) return;
  const bool begun = pd_range_begin(self->record, &site, NULL);
  const int64_t end_ns = monotonic_ns() + self->config.worker_init_ns;
  const struct timespec until = {.tv_sec = end_ns / 1000000000, .tv_nsec = end_ns % 1000000000};
  while (!self->quit && pthread_cond_timedwait(&self->work, &self->lock, &until) != ETIMEDOUT) {}
  pd_range_end(self->record, begun);
}

static void *work(void *state) {
  const worker *own = state;
  workers *self = own->shared;
  char name[32];
  snprintf(name, sizeof name, "pdhost loader %u", own->number);
  self->record->name_thread(self->record, name);
  uint64_t generation = 0, next = 0;
  const uint64_t ahead = self->slot_count - 1;
  pthread_mutex_lock(&self->lock);
  start_up(self);
  for (;;) {
    if (self->quit) break;
    if (generation != self->generation) {
      generation = self->generation;
      next = own->number;
    }
    if (!self->active || next >= self->plan.batches || next >= self->taken + ahead) {
      pthread_cond_wait(&self->work, &self->lock);
      continue;
    }
    const epoch_plan plan = self->plan;
    slot *at = &self->slots[next % self->slot_count];
    int64_t count = 0;
    self->busy++;
    pthread_mutex_unlock(&self->lock);
    const pd_status status = make(self, &plan, next, at, &count);
    pthread_mutex_lock(&self->lock);
    self->busy--;
    if (self->active && generation == self->generation) {
      at->made = next + 1;
      at->count = count;
      at->status = status;
      atomic_fetch_add(&self->ready, 1);
      sample_queue(self);
      sem_post(&self->finished);
      next += self->worker_count;
    } else {
      pthread_cond_signal(&self->idle);
    }
  }
  pthread_mutex_unlock(&self->lock);
  return NULL;
}

static pd_status start_threads(workers *self) {
  int error = 0;
  for (uint64_t i = 0; i < self->worker_count && !error; i++) {
    worker *one = &self->all[i];
    if (one->started) continue;
    *one = (worker){.shared = self, .number = (uint32_t)i};
    error = pd_thread_start(&one->thread, work, one);
    one->started = !error;
  }
  if (error)
    return self->host->fail(self->host, PD_NO_MEMORY,
                            "[data] num_workers = %lld: cannot start a thread: %s; lower num_workers",
                            (long long)self->config.num_workers, strerror(error));
  return PD_OK;
}

static void join_threads(workers *self) {
  pthread_mutex_lock(&self->lock);
  self->quit = true;
  pthread_cond_broadcast(&self->work);
  pthread_mutex_unlock(&self->lock);
  for (uint64_t i = 0; i < self->worker_count; i++) {
    if (self->all[i].started) pthread_join(self->all[i].thread, NULL);
    self->all[i].started = false;
  }
  self->quit = false;
}

pd_status workers_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                       const data_config *config, const dataset *set, workers **out) {
  *out = NULL;
  workers *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "[data]: no memory for the loader");
  self->host = host;
  self->device = device;
  self->record = record;
  self->config = *config;
  self->set = *set;
  self->worker_count = (uint64_t)config->num_workers;
  self->slot_count = self->worker_count * (uint64_t)config->prefetch_factor + 1;
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->work, &clock);
  pthread_cond_init(&self->idle, NULL);
  pthread_condattr_destroy(&clock);
  sem_init(&self->finished, 0, 0);
  self->all = calloc(self->worker_count, sizeof *self->all);
  self->slots = calloc(self->slot_count, sizeof *self->slots);
  pd_status status = PD_OK;
  if (!self->all || !self->slots) status = host->fail(host, PD_NO_MEMORY, "[data]: no memory for the loader");
  for (uint64_t i = 0; status == PD_OK && i < self->slot_count; i++)
    status = batch_buffer_open(host, device, config, &self->slots[i].buffer);
  if (status != PD_OK) {
    workers_close(self);
    return status;
  }
  *out = self;
  return PD_OK;
}

void workers_close(workers *self) {
  if (!self) return;
  workers_end(self);
  if (self->all) join_threads(self);
  for (uint64_t i = 0; self->slots && i < self->slot_count; i++)
    batch_buffer_close(self->device, &self->slots[i].buffer);
  free(self->slots);
  free(self->all);
  sem_destroy(&self->finished);
  pthread_cond_destroy(&self->idle);
  pthread_cond_destroy(&self->work);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

void workers_inject(workers *self, bool inject) {
  pthread_mutex_lock(&self->lock);
  self->config.control = !inject;
  pthread_mutex_unlock(&self->lock);
}

void workers_delay(workers *self, int64_t ns) {
  pthread_mutex_lock(&self->lock);
  self->config.delay_ns = ns;
  pthread_mutex_unlock(&self->lock);
}

pd_status workers_begin(workers *self, const epoch_plan *plan) {
  pthread_mutex_lock(&self->lock);
  self->plan = *plan;
  self->generation++;
  self->taken = 0;
  self->active = true;
  atomic_store(&self->leave, false);
  atomic_store(&self->ready, 0);
  for (uint64_t i = 0; i < self->slot_count; i++) self->slots[i].made = 0;
  pthread_cond_broadcast(&self->work);
  pthread_mutex_unlock(&self->lock);
  const pd_status status = start_threads(self);
  if (status != PD_OK) workers_end(self);
  return status;
}

void workers_end(workers *self) {
  pthread_mutex_lock(&self->lock);
  self->active = false;
  atomic_store(&self->leave, true);
  pthread_cond_broadcast(&self->work);
  while (self->busy) pthread_cond_wait(&self->idle, &self->lock);
  atomic_store(&self->ready, 0);
  pthread_mutex_unlock(&self->lock);
  while (sem_trywait(&self->finished) == 0) {}
  if (!self->config.persistent_workers && self->all) join_threads(self);
}

pd_status workers_take(workers *self, batch_buffer **buffer, int64_t *count) {
  pd_status status;
  pthread_mutex_lock(&self->lock);
  slot *at = &self->slots[self->taken % self->slot_count];
  for (;;) {
    if (atomic_load(&self->stop)) {
      pthread_mutex_unlock(&self->lock);
      return PD_STOP;
    }
    if (at->made == self->taken + 1) break;
    pthread_mutex_unlock(&self->lock);
    while (sem_wait(&self->finished) != 0) {} /* interrupted by a signal whose handler may have called workers_stop */
    pthread_mutex_lock(&self->lock);
  }
  (void)sem_trywait(&self->finished); /* a batch that needed no waiting leaves its post behind */
  self->taken++;
  status = at->status;
  *buffer = &at->buffer;
  *count = at->count;
  atomic_fetch_sub(&self->ready, 1);
  sample_queue(self);
  pthread_cond_broadcast(&self->work);
  pthread_mutex_unlock(&self->lock);
  return status;
}

bool workers_peek(workers *self, batch_buffer **buffer, int64_t *count) {
  pthread_mutex_lock(&self->lock);
  slot *at = &self->slots[self->taken % self->slot_count];
  const bool made = at->made == self->taken + 1 && at->status == PD_OK;
  *buffer = &at->buffer;
  *count = at->count;
  pthread_mutex_unlock(&self->lock);
  return made;
}

pd_status workers_give_back(workers *self, batch_buffer *buffer) { return batch_buffer_release(self->device, buffer); }

void workers_stop(workers *self) {
  atomic_store(&self->stop, true);
  sem_post(&self->finished);
}

uint32_t workers_ready(const workers *self) { return atomic_load(&self->ready); }

uint64_t workers_bytes(const workers *self) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < self->slot_count; i++) bytes += self->slots[i].buffer.bytes;
  return bytes;
}
