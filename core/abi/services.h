/* What the host offers to plugins: one pd_host per loaded plugin, over the services of the run. */
#ifndef CORE_ABI_SERVICES_H
#define CORE_ABI_SERVICES_H

#include "base/files.h"

#include <pdhost/analysis.h>
#include <pdhost/communicator.h>
#include <pdhost/device.h>
#include <pdhost/record.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

/* Filled by the run as its parts come up; a service that this run lacks is NULL. */
typedef struct services {
  const pd_record *record;
  const pd_train *train;
  const pd_device_access *device;
  const pd_analysis *analysis;
  const pd_truth *truth;
  const pd_ranks *ranks;
  files *files;
} services;

typedef struct service_host service_host;

/* A pd_host for the plugin (or part of the core) called `name`. NULL on no memory. */
service_host *service_host_open(const services *all, const char *name);
void service_host_close(service_host *self);
const pd_host *service_host_table(const service_host *self);

/* The message of the last fail(), "" when there was none since the last call. Copies at most `room` bytes. */
void service_host_take_message(service_host *self, char *message, size_t room);

/* Prints the one line of a failure: `where`, then the last message of `host`, which may be NULL, or the status's text.
 * Returns `code`. */
int service_host_report(service_host *host, pd_status status, const char *where, int code);

/* "out of memory" for PD_NO_MEMORY, and so on. */
const char *service_status_text(pd_status status);

#endif
