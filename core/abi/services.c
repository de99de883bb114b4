/* The plugins' view of the host; see services.h. */
#include "services.h"

#include "base/error.h"
#include "base/log.h"
#include "base/progress_line.h"

#include <pdhost/sink.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct service_host {
  pd_host table;
  const services *services;
  const pd_files *files;
  pthread_mutex_t lock; /* of message: fail() may come from any thread */
  char name[64];
  char message[1024];
};

const char *service_status_text(pd_status status) {
  switch (status) {
#define PD_X(name, value, text)                                                                                        \
  case value: return text;
    PD_STATUS_MAP(PD_X)
#undef PD_X
  default: return "unknown status";
  }
}

static const void *extension(const pd_host *host, const char *id) {
  const service_host *self = host->impl;
  const services *all = self->services;
  if (strcmp(id, PD_EXT_RECORD) == 0) return all->record;
  if (strcmp(id, PD_EXT_TRAIN) == 0) return all->train;
  if (strcmp(id, PD_EXT_DEVICE) == 0) return all->device;
  if (strcmp(id, PD_EXT_ANALYSIS) == 0) return all->analysis;
  if (strcmp(id, PD_EXT_TRUTH) == 0) return all->truth;
  if (strcmp(id, PD_EXT_RANKS) == 0) return all->ranks;
  if (strcmp(id, PD_EXT_FILES) == 0) return self->files;
  if (strcmp(id, PD_EXT_PROGRESS) == 0) return progress_table();
  return NULL;
}

PD_PRINTF(3, 4) static pd_status fail(const pd_host *host, pd_status code, const char *format, ...) {
  service_host *self = host->impl;
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&self->lock);
  vsnprintf(self->message, sizeof self->message, format, args);
  pthread_mutex_unlock(&self->lock);
  va_end(args);
  return code;
}

PD_PRINTF(3, 4) static void log_for(const pd_host *host, pd_log_level level, const char *format, ...) {
  const service_host *self = host->impl;
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  log_line(level, self->name, "%s", line);
}

service_host *service_host_open(const services *all, const char *name) {
  service_host *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->services = all;
  snprintf(self->name, sizeof self->name, "%s", name);
  self->table = (pd_host){.size = sizeof(pd_host),
                          .abi_major = PD_ABI_MAJOR,
                          .abi_minor = PD_ABI_MINOR,
                          .impl = self,
                          .extension = extension,
                          .fail = fail,
                          .log = log_for};
  pthread_mutex_init(&self->lock, NULL);
  if (all->files) {
    self->files = files_table(all->files, &self->table);
    if (!self->files) {
      service_host_close(self);
      return NULL;
    }
  }
  return self;
}

void service_host_close(service_host *self) {
  if (!self) return;
  pthread_mutex_destroy(&self->lock);
  free(self);
}

const pd_host *service_host_table(const service_host *self) { return &self->table; }

void service_host_take_message(service_host *self, char *message, size_t room) {
  pthread_mutex_lock(&self->lock);
  snprintf(message, room, "%s", self->message);
  self->message[0] = '\0';
  pthread_mutex_unlock(&self->lock);
}

int service_host_report(service_host *host, pd_status status, const char *where, int code) {
  char message[1024] = "";
  if (host) service_host_take_message(host, message, sizeof message);
  error_line_print(status == PD_NO_MEMORY ? FAULT_MEMORY : code, NULL, "%s: %s", where,
                   message[0] ? message : service_status_text(status));
  return code;
}
