/* See cupti_callbacks.h. */
#include "cupti_callbacks.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static _Atomic(cupti_receiver *) live;
static _Atomic uint32_t under_way;
static _Atomic bool forked;

void CUPTIAPI cupti_callbacks_request(uint8_t **buffer, size_t *bytes, size_t *max_records) {
  atomic_fetch_add(&under_way, 1);
  cupti_receiver *self = atomic_load(&live);
  *buffer = NULL;
  *bytes = 0;
  *max_records = 0; /* as many as fit */
  if (self) {
    *buffer = cupti_buffers_take(&self->pool, bytes);
    if (cupti_buffers_low(&self->pool)) sem_post(&self->work);
  }
  atomic_fetch_sub(&under_way, 1);
}

void CUPTIAPI cupti_callbacks_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                       size_t valid) {
  (void)context;
  (void)stream;
  (void)bytes;
  atomic_fetch_add(&under_way, 1);
  cupti_receiver *self = atomic_load(&live);
  if (self && cupti_buffers_complete(&self->pool, buffer, valid)) sem_post(&self->work);
  atomic_fetch_sub(&under_way, 1);
}

bool cupti_callbacks_begin(cupti_receiver *self) {
  cupti_receiver *none = NULL;
  return atomic_compare_exchange_strong(&live, &none, self);
}

void cupti_callbacks_end(cupti_receiver *self) {
  atomic_compare_exchange_strong(&live, &self, NULL);
  while (atomic_load(&under_way)) sched_yield(); /* they neither wait nor loop */
}

static void after_fork(void) {
  atomic_store(&forked, true);
  atomic_store(&live, NULL);
}

void cupti_callbacks_watch_forks(void) {
  static _Atomic bool watched;
  if (!atomic_exchange(&watched, true)) pthread_atfork(NULL, NULL, after_fork);
}

bool cupti_callbacks_forked(void) { return atomic_load(&forked); }
