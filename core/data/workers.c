/* See workers.h. One lock guards the ring; a batch takes milliseconds to make, so nobody waits for the lock. */
#include "workers.h"

#include "base/monotonic.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
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
  workers *w = state;
  if (sleep_ns > 0 && !atomic_load_explicit(&w->leave, memory_order_relaxed)) {
    const bool begun = pd_range_begin(w->record, &site, NULL);
    const struct timespec until = pd_clock_after(CLOCK_MONOTONIC, sleep_ns);
    /* A sleep that an end of the epoch cuts short. */
    pthread_mutex_lock(&w->lock);
    while (w->active && !w->quit && pthread_cond_timedwait(&w->work, &w->lock, &until) != ETIMEDOUT) {}
    pthread_mutex_unlock(&w->lock);
    pd_range_end(w->record, begun);
  }
  return !atomic_load_explicit(&w->leave, memory_order_relaxed);
}

static void sample_queue(const workers *w) {
  static pd_site site = PD_SITE("DataLoader queue", PD_RANGE_WORKER);
  if (!pd_record_on(w->record)) return;
  w->record->counter(w->record, w->record->intern(w->record, site.text), (double)atomic_load(&w->ready));
}

/* Makes batch `index`; the lock is not held. */
static pd_status make(workers *w, const epoch_plan *plan, uint64_t index, slot *at, int64_t *count) {
  static pd_site site = PD_SITE("DataLoader worker: batch", PD_RANGE_WORKER);
  const bool begun = pd_range_begin(w->record, &site, NULL);
  const pd_status status = batch_buffer_reclaim(w->device, &at->buffer);
  if (status == PD_OK) *count = batch_make(&w->set, &w->config, plan, index, &at->buffer, worker_pause, w);
  pd_range_end(w->record, begun);
  return status;
}

/* What a worker does once, before it takes work; an end of all workers cuts it short. The lock is held. */
static void start_up(workers *w) {
  static pd_site site = PD_SITE("DataLoader worker: init", PD_RANGE_WORKER);
  if (w->config.worker_init_ns <= 0) return;
  const bool begun = pd_range_begin(w->record, &site, NULL);
  const int64_t end_ns = monotonic_ns() + w->config.worker_init_ns;
  const struct timespec until = {.tv_sec = end_ns / 1000000000, .tv_nsec = end_ns % 1000000000};
  while (!w->quit && pthread_cond_timedwait(&w->work, &w->lock, &until) != ETIMEDOUT) {}
  pd_range_end(w->record, begun);
}

static void *work(void *state) {
  const worker *self = state;
  workers *w = self->shared;
  char name[32];
  snprintf(name, sizeof name, "pdhost loader %u", self->number);
  w->record->name_thread(w->record, name);
  uint64_t generation = 0, next = 0;
  const uint64_t ahead = w->slot_count - 1;
  pthread_mutex_lock(&w->lock);
  start_up(w);
  for (;;) {
    if (w->quit) break;
    if (generation != w->generation) {
      generation = w->generation;
      next = self->number;
    }
    if (!w->active || next >= w->plan.batches || next >= w->taken + ahead) {
      pthread_cond_wait(&w->work, &w->lock);
      continue;
    }
    const epoch_plan plan = w->plan;
    slot *at = &w->slots[next % w->slot_count];
    int64_t count = 0;
    w->busy++;
    pthread_mutex_unlock(&w->lock);
    const pd_status status = make(w, &plan, next, at, &count);
    pthread_mutex_lock(&w->lock);
    w->busy--;
    if (w->active && generation == w->generation) {
      at->made = next + 1;
      at->count = count;
      at->status = status;
      atomic_fetch_add(&w->ready, 1);
      sample_queue(w);
      sem_post(&w->finished);
      next += w->worker_count;
    } else {
      pthread_cond_signal(&w->idle);
    }
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static pd_status start_threads(workers *w) {
  sigset_t all, before;
  /* A signal of the run's is the loop thread's. */
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int error = 0;
  for (uint64_t i = 0; i < w->worker_count && !error; i++) {
    worker *one = &w->all[i];
    if (one->started) continue;
    *one = (worker){.shared = w, .number = (uint32_t)i};
    error = pthread_create(&one->thread, NULL, work, one);
    one->started = !error;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error)
    return w->host->fail(w->host, PD_NO_MEMORY,
                         "[data] num_workers = %lld: cannot start a thread: %s; lower num_workers",
                         (long long)w->config.num_workers, strerror(error));
  return PD_OK;
}

static void join_threads(workers *w) {
  pthread_mutex_lock(&w->lock);
  w->quit = true;
  pthread_cond_broadcast(&w->work);
  pthread_mutex_unlock(&w->lock);
  for (uint64_t i = 0; i < w->worker_count; i++) {
    if (w->all[i].started) pthread_join(w->all[i].thread, NULL);
    w->all[i].started = false;
  }
  w->quit = false;
}

pd_status workers_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                       const data_config *config, const dataset *set, workers **out) {
  *out = NULL;
  workers *w = calloc(1, sizeof *w);
  if (!w) return host->fail(host, PD_NO_MEMORY, "[data]: no memory for the loader");
  w->host = host;
  w->device = device;
  w->record = record;
  w->config = *config;
  w->set = *set;
  w->worker_count = (uint64_t)config->num_workers;
  w->slot_count = w->worker_count * (uint64_t)config->prefetch_factor + 1;
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->work, &clock);
  pthread_cond_init(&w->idle, NULL);
  pthread_condattr_destroy(&clock);
  sem_init(&w->finished, 0, 0);
  w->all = calloc(w->worker_count, sizeof *w->all);
  w->slots = calloc(w->slot_count, sizeof *w->slots);
  pd_status status = PD_OK;
  if (!w->all || !w->slots) status = host->fail(host, PD_NO_MEMORY, "[data]: no memory for the loader");
  for (uint64_t i = 0; status == PD_OK && i < w->slot_count; i++)
    status = batch_buffer_open(host, device, config, &w->slots[i].buffer);
  if (status != PD_OK) {
    workers_close(w);
    return status;
  }
  *out = w;
  return PD_OK;
}

void workers_close(workers *w) {
  if (!w) return;
  workers_end(w);
  if (w->all) join_threads(w);
  for (uint64_t i = 0; w->slots && i < w->slot_count; i++) batch_buffer_close(w->device, &w->slots[i].buffer);
  free(w->slots);
  free(w->all);
  sem_destroy(&w->finished);
  pthread_cond_destroy(&w->idle);
  pthread_cond_destroy(&w->work);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

void workers_inject(workers *w, bool inject) {
  pthread_mutex_lock(&w->lock);
  w->config.control = !inject;
  pthread_mutex_unlock(&w->lock);
}

void workers_delay(workers *w, int64_t ns) {
  pthread_mutex_lock(&w->lock);
  w->config.delay_ns = ns;
  pthread_mutex_unlock(&w->lock);
}

pd_status workers_begin(workers *w, const epoch_plan *plan) {
  pthread_mutex_lock(&w->lock);
  w->plan = *plan;
  w->generation++;
  w->taken = 0;
  w->active = true;
  atomic_store(&w->leave, false);
  atomic_store(&w->ready, 0);
  for (uint64_t i = 0; i < w->slot_count; i++) w->slots[i].made = 0;
  pthread_cond_broadcast(&w->work);
  pthread_mutex_unlock(&w->lock);
  const pd_status status = start_threads(w);
  if (status != PD_OK) workers_end(w);
  return status;
}

void workers_end(workers *w) {
  pthread_mutex_lock(&w->lock);
  w->active = false;
  atomic_store(&w->leave, true);
  pthread_cond_broadcast(&w->work);
  while (w->busy) pthread_cond_wait(&w->idle, &w->lock);
  atomic_store(&w->ready, 0);
  pthread_mutex_unlock(&w->lock);
  while (sem_trywait(&w->finished) == 0) {}
  if (!w->config.persistent_workers && w->all) join_threads(w);
}

pd_status workers_take(workers *w, batch_buffer **buffer, int64_t *count) {
  pd_status status;
  pthread_mutex_lock(&w->lock);
  slot *at = &w->slots[w->taken % w->slot_count];
  for (;;) {
    if (atomic_load(&w->stop)) {
      pthread_mutex_unlock(&w->lock);
      return PD_STOP;
    }
    if (at->made == w->taken + 1) break;
    pthread_mutex_unlock(&w->lock);
    while (sem_wait(&w->finished) != 0) {} /* interrupted by a signal whose handler may have called workers_stop */
    pthread_mutex_lock(&w->lock);
  }
  (void)sem_trywait(&w->finished); /* a batch that needed no waiting leaves its post behind */
  w->taken++;
  status = at->status;
  *buffer = &at->buffer;
  *count = at->count;
  atomic_fetch_sub(&w->ready, 1);
  sample_queue(w);
  pthread_cond_broadcast(&w->work);
  pthread_mutex_unlock(&w->lock);
  return status;
}

bool workers_peek(workers *w, batch_buffer **buffer, int64_t *count) {
  pthread_mutex_lock(&w->lock);
  slot *at = &w->slots[w->taken % w->slot_count];
  const bool made = at->made == w->taken + 1 && at->status == PD_OK;
  *buffer = &at->buffer;
  *count = at->count;
  pthread_mutex_unlock(&w->lock);
  return made;
}

pd_status workers_give_back(workers *w, batch_buffer *buffer) { return batch_buffer_release(w->device, buffer); }

void workers_stop(workers *w) {
  atomic_store(&w->stop, true);
  sem_post(&w->finished);
}

uint32_t workers_ready(const workers *w) { return atomic_load(&w->ready); }
