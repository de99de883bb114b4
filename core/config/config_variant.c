/* See config_variant.h. */
#include "config_variant.h"

#include <stdlib.h>
#include <string.h>

bool config_set_by_user(const pd_setting *at) {
  return at->value && strcmp(at->origin, "default") != 0 && strncmp(at->origin, "preset of ", 10) != 0;
}

pd_status config_variant(const config *from, const config_assignment *more, uint32_t count, config **out, error *err) {
  config_assignment *all = calloc(from->setting_count + count + 1, sizeof *all);
  uint32_t used = 0;
  *out = NULL;
  if (!all) return error_no_memory(err);
  for (uint64_t i = 0; i < from->setting_count; i++) {
    const pd_setting *at = &from->settings[i];
    if (config_set_by_user(at)) all[used++] = (config_assignment){at->section, at->key, at->value, at->origin};
  }
  if (from->device_auto) /* it was decided once */
    all[used++] = (config_assignment){"run", "device", from->device.plugin->table->name, "default"};
  for (uint32_t i = 0; i < count; i++) all[used++] = more[i];
  const config_input input = {.assignments = all, .assignment_count = used};
  const pd_status status = config_load(&input, out, err);
  free(all);
  return status;
}
