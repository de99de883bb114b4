/* See probe.h. */
#include "probe.h"

#include "abi/plugins.h"
#include "abi/services.h"
#include "base/child.h"
#include "config/config_sections.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROBE_SECONDS = 30 };

typedef struct probe {
  const char *folders, *device;
} probe;

static pd_status open_it(const pd_plugin *table, char *said, size_t room) {
  static const services none;
  text_pool memory = {.blocks = NULL};
  config_section rows;
  error err;
  error_clear(&err);
  service_host *host = service_host_open(&none, table->name);
  if (!host || section_open_plugin(&rows, &memory, "device", table) != PD_OK) return PD_NO_MEMORY;
  pd_status status = section_store(&rows, &memory, "", &err);
  pd_device *device = NULL;
  const pd_device_ops *ops = table->ops.device;
  pd_device_props props = {.size = sizeof props};
  if (status == PD_OK) status = ops->open(service_host_table(host), rows.options, 0, &device);
  if (status == PD_OK) status = ops->props(device, &props);
  if (status == PD_OK)
    snprintf(said, room, "%s", props.name);
  else
    service_host_take_message(host, said, room);
  if (status != PD_OK && !said[0]) snprintf(said, room, "%s", service_status_text(status));
  if (device) ops->close(device);
  service_host_close(host);
  text_pool_free(&memory);
  return status;
}

/* In the child. */
static int body(void *user, int report) {
  const probe *self = user;
  char said[1024] = "out of memory";
  error err;
  error_clear(&err);
  plugins *all = plugins_open(self->folders);
  const plugin *loaded = NULL;
  pd_status status = all ? plugins_load(all, PD_KIND_DEVICE, self->device, &loaded, &err) : PD_NO_MEMORY;
  if (status != PD_OK && err.count) error_first_line(&err, said, sizeof said);
  if (status == PD_OK) {
    said[0] = '\0';
    status = open_it(loaded->table, said, sizeof said);
  }
  const size_t bytes = strlen(said);
  const bool told = write(report, said, bytes) == (ssize_t)bytes;
  return status == PD_OK && told ? 0 : 1;
}

bool probe_device(const char *folders, const char *device, char *said, size_t room) {
  probe self = {.folders = folders, .device = device};
  child_result result;
  char ending[128] = "no child process could be made";
  if (child_call(body, &self, PROBE_SECONDS, &result)) child_ending(&result, ending, sizeof ending);
  snprintf(said, room, "%s", ending[0] ? ending : result.text);
  return !ending[0] && result.exit_code == 0;
}
