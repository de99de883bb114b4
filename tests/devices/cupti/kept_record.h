/* A pd_record that keeps everything it is given. */
#ifndef TESTS_CUPTI_KEPT_RECORD_H
#define TESTS_CUPTI_KEPT_RECORD_H

#include <pdhost/record.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept_record {
  pd_record table;
  pthread_mutex_t lock;
  pd_activity *rows;
  uint64_t count, capacity;
  char *names[4096];
  uint32_t name_count;
  uint32_t on;
  uint64_t lost[PD_LOSS_COUNT];
  sigset_t blocked; /* by the thread that named itself last */
} kept_record;

static inline uint32_t kept_record_intern(const pd_record *record, const char *text) {
  kept_record *self = record->impl;
  pthread_mutex_lock(&self->lock);
  uint32_t id = 0;
  for (uint32_t i = 1; i < self->name_count && !id; i++)
    if (!strcmp(self->names[i], text)) id = i;
  if (!id && self->name_count < 4096) {
    id = self->name_count++;
    self->names[id] = strdup(text);
  }
  pthread_mutex_unlock(&self->lock);
  return id;
}
static inline void kept_record_activities(const pd_record *record, pd_clock clock, const pd_activity *rows,
                                          uint64_t count) {
  kept_record *self = record->impl;
  (void)clock;
  pthread_mutex_lock(&self->lock);
  if (self->count + count > self->capacity) {
    self->capacity = (self->count + count) * 2;
    self->rows = realloc(self->rows, self->capacity * sizeof *self->rows);
    if (!self->rows) abort();
  }
  memcpy(self->rows + self->count, rows, count * sizeof *rows);
  self->count += count;
  pthread_mutex_unlock(&self->lock);
}
static inline void kept_record_lost(const pd_record *record, pd_loss loss, uint64_t count) {
  kept_record *self = record->impl;
  pthread_mutex_lock(&self->lock);
  self->lost[loss] += count;
  pthread_mutex_unlock(&self->lock);
}
static inline void kept_record_name_thread(const pd_record *record, const char *name) {
  kept_record *self = record->impl;
  (void)name;
  pthread_mutex_lock(&self->lock);
  pthread_sigmask(SIG_SETMASK, NULL, &self->blocked);
  pthread_mutex_unlock(&self->lock);
}
static inline void kept_record_init(kept_record *self) {
  memset(self, 0, sizeof *self);
  pthread_mutex_init(&self->lock, NULL);
  self->name_count = 1;
  self->table = (pd_record){.size = sizeof(pd_record),
                            .impl = self,
                            .enabled = &self->on,
                            .intern = kept_record_intern,
                            .activities = kept_record_activities,
                            .lost = kept_record_lost,
                            .name_thread = kept_record_name_thread};
}
static inline void kept_record_free(kept_record *self) {
  for (uint32_t i = 1; i < self->name_count; i++) free(self->names[i]);
  free(self->rows);
  pthread_mutex_destroy(&self->lock);
}

#endif
