/* The fake's buffers: asked for, filled and handed over as CUPTI does. */
#include "fake_state.h"

#include <stdlib.h>

size_t fake_bytes_of(CUpti_ActivityKind kind) {
  switch ((int)kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
  case CUPTI_ACTIVITY_KIND_KERNEL:
    return sizeof(CUpti_ActivityKernel10) + fake.config.record_growth - (fake.config.record_shrink ? 8 : 0);
  case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6) + fake.config.record_growth;
  case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4) + fake.config.record_growth;
  case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4) + fake.config.record_growth;
  case CUPTI_ACTIVITY_KIND_RUNTIME:
  case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI) + fake.config.record_growth;
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2) + fake.config.record_growth;
  case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3) + fake.config.record_growth;
  default: return 0;
  }
}

static uint8_t *request(size_t *bytes) {
  uint8_t *data = NULL;
  size_t records = 1;
  *bytes = 0;
  if (!fake.on_request) return NULL;
  fake_inside = true;
  fake.on_request(&data, bytes, &records);
  fake_inside = false;
  fake.counts.requests++;
  if (!data) {
    fake.counts.refused++;
    return NULL;
  }
  for (size_t i = 0; i < *bytes; i += 997) fake.counts.unzeroed += data[i] != 0;
  fake.counts.cleared += !fake.zeroed_set;
  return data;
}

static void complete(uint8_t *data, size_t bytes, size_t valid) {
  fake.counts.completions++;
  if (!fake.on_complete) return;
  fake_inside = true;
  fake.on_complete(NULL, 0, data, bytes, valid);
  fake_inside = false;
}

static fake_buffer *own_buffer(size_t wanted) {
  fake_buffer *buffer = fake.buffers;
  while (buffer && !(pthread_equal(buffer->owner, pthread_self()) && !buffer->full)) buffer = buffer->next;
  if (buffer && buffer->bytes - buffer->used < wanted) {
    buffer->full = true;
    buffer = NULL;
  }
  if (buffer) return buffer;
  size_t bytes;
  uint8_t *data = request(&bytes);
  if (!data) {
    fake.config.dropped++;
    return NULL;
  }
  buffer = calloc(1, sizeof *buffer);
  if (!buffer) abort();
  *buffer = (fake_buffer){.data = data, .bytes = bytes, .next = fake.buffers, .owner = pthread_self()};
  fake.buffers = buffer;
  return buffer;
}

void *fake_put(CUpti_ActivityKind kind, fake_buffer **into) {
  size_t bytes = fake_bytes_of(kind);
  fake_buffer *buffer = own_buffer(bytes);
  if (into) *into = buffer;
  if (!buffer) return NULL;
  CUpti_Activity *record = (CUpti_Activity *)(void *)(buffer->data + buffer->used);
  record->kind = kind;
  buffer->used += bytes;
  return record;
}

static void *deliver_later(void *buffer_) {
  fake_buffer *buffer = buffer_;
  usleep(2000); /* the point of this thread is to be late; no assertion depends on how late */
  pthread_mutex_lock(&fake.lock);
  complete(buffer->data, buffer->bytes, buffer->used);
  pthread_mutex_unlock(&fake.lock);
  free(buffer);
  return NULL;
}

void fake_flush(bool forced) {
  for (fake_buffer **at = &fake.buffers; *at;) {
    fake_buffer *buffer = *at;
    if (buffer->kept || (buffer->running && !forced)) {
      at = &buffer->next;
      continue;
    }
    *at = buffer->next;
    if (fake.config.late_completion && !forced && fake.deliverer_count < 256) {
      if (pthread_create(&fake.deliverers[fake.deliverer_count], NULL, deliver_later, buffer)) abort();
      fake.deliverer_count++;
      continue;
    }
    uint32_t kept = 0; /* a forced flush never gives a running kernel again */
    for (uint32_t i = 0; i < fake.running_count; i++)
      if (fake.running[i].buffer != buffer) fake.running[kept++] = fake.running[i];
    fake.running_count = kept;
    complete(buffer->data, buffer->bytes, buffer->used);
    free(buffer);
  }
}

/* ---- the tests' side ----------------------------------------------------------------------------------------- */

void fake_fill(void) {
  pthread_mutex_lock(&fake.lock);
  for (fake_buffer *buffer = fake.buffers; buffer; buffer = buffer->next)
    if (pthread_equal(buffer->owner, pthread_self())) buffer->full = true;
  pthread_mutex_unlock(&fake.lock);
}
void fake_keep(bool for_good) {
  pthread_mutex_lock(&fake.lock);
  for (fake_buffer *buffer = fake.buffers; buffer; buffer = buffer->next)
    if (pthread_equal(buffer->owner, pthread_self()) && !buffer->full) buffer->kept = true, buffer->lost = for_good;
  pthread_mutex_unlock(&fake.lock);
}
uint8_t *fake_request(size_t *bytes) {
  pthread_mutex_lock(&fake.lock);
  uint8_t *data = request(bytes);
  pthread_mutex_unlock(&fake.lock);
  return data;
}
uint8_t *fake_request_beside(size_t *bytes) {
  uint8_t *data = NULL;
  size_t records = 0;
  pthread_mutex_lock(&fake.lock);
  const CUpti_BuffersCallbackRequestFunc function = fake.on_request;
  pthread_mutex_unlock(&fake.lock);
  fake_inside = true;
  if (function) function(&data, bytes, &records);
  fake_inside = false;
  return data;
}
void fake_complete(uint8_t *buffer, size_t valid) {
  pthread_mutex_lock(&fake.lock);
  complete(buffer, valid, valid);
  pthread_mutex_unlock(&fake.lock);
}
void fake_join(void) {
  for (uint32_t i = 0; i < fake.deliverer_count; i++) pthread_join(fake.deliverers[i], NULL);
  fake.deliverer_count = 0;
}
