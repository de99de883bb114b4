/* See config_impl.h. */
#include "config_impl.h"

#include <string.h>

config_section *config_find_section(config *self, const char *name) {
  struct config_impl *impl = self->impl;
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++)
    if (strcmp(impl->core[i].name, name) == 0) return &impl->core[i];
  if (strcmp(name, "scenario") == 0) return &impl->scenario;
  if (strcmp(name, "device") == 0 && impl->device_open) return &impl->device;
  for (uint32_t i = 0; i < self->sink_count; i++)
    if (strcmp(impl->sinks[i].name, name) == 0 ||
        (strncmp(name, "sink.", 5) == 0 && strcmp(impl->sinks_given[i], name + 5) == 0))
      return &impl->sinks[i];
  for (uint32_t i = 0; i < self->reader_count; i++)
    if (strcmp(impl->readers[i].name, name) == 0) return &impl->readers[i];
  return NULL;
}
