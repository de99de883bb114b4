/* Presets of plugins; see config_presets.h. */
#include "config_presets.h"

#include "config_impl.h"

#include <stdio.h>
#include <string.h>

/* The scenario's or the device's plugin, and how the setting's origin is to read. */
typedef struct preset_source {
  const plugin *from;
  const char *origin;
  const char *section; /* "scenario", "device": the plugin's own keys may be preset too; NULL: not these */
} preset_source;

bool config_presets_may(const char *key) {
  static const char *const of_run[] = {"run.warmup_steps", "run.sync_timing", "run.max_steps", "run.epochs"};
  if (strncmp(key, "run.", 4) != 0) return true;
  for (size_t i = 0; i < sizeof of_run / sizeof of_run[0]; i++)
    if (strcmp(key, of_run[i]) == 0) return true;
  return false;
}

static pd_status refuse(const preset_source *source, const char *key, const char *why, error *err) {
  return error_set(err, PD_INVALID, CODE_PLUGIN, "%s: preset %s: %s", source->from->path, key, why);
}

static pd_status apply_one(config *self, const preset_source *source, const char *key, const char *value, error *err) {
  const char *dot = strrchr(key, '.');
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(dot - key), key);
  config_section *at = config_find_section(self, name);
  const bool own = at && at->owner && source->section && strcmp(name, source->section) == 0;
  const int row = at ? section_find(at, dot + 1) : -1;
  if (row < 0 || (at->owner && !own)) return refuse(source, key, "no such key of the core's", err);
  if (!config_presets_may(key)) return refuse(source, key, "this key is the user's choice", err);
  if (at->values[row].given) return PD_OK;
  error one;
  error_clear(&one);
  if (section_set(at, dot + 1, value, source->origin, CODE_PLUGIN, &one) == PD_OK) return PD_OK;
  error_wrap(&one, source->from->path);
  error_clear(err);
  error_merge(err, &one);
  return PD_INVALID;
}

static pd_status apply_list(config *self, const preset_source *source, const pd_preset *list, error *err) {
  pd_status status = PD_OK;
  for (const pd_preset *at = list; at && at->key && status == PD_OK; at++)
    status = apply_one(self, source, at->key, at->value, err);
  return status;
}

static void reset_section(config_section *section) {
  for (uint32_t row = 0; row < section->count; row++) section_reset(section, row);
}

static pd_status apply_of_device(config *self, error *err) {
  const plugin *device = self->device.plugin, *scenario = self->scenario.plugin;
  const pd_device_ops *ops = device->table->ops.device;
  text_pool *memory = &self->impl->memory;
  const char *name = device->table->name;
  const preset_source by_device = {device, text_pool_join(memory, "preset of device ", name, ""), "device"};
  char of_both[160];
  snprintf(of_both, sizeof of_both, "preset of %s for device %s", scenario->table->name, name);
  const preset_source by_scenario = {scenario, text_pool_text(memory, of_both), "scenario"};
  if (!by_device.origin || !by_scenario.origin) return error_no_memory(err);
  pd_status status = apply_list(self, &by_device, PD_HAS(pd_device_ops, ops, presets) ? ops->presets : NULL, err);
  const pd_scenario_ops *steps = scenario->table->ops.scenario;
  const pd_device_preset *at = PD_HAS(pd_scenario_ops, steps, device_presets) ? steps->device_presets : NULL;
  for (; at && at->device && status == PD_OK; at++)
    if (strcmp(at->device, name) == 0) status = apply_one(self, &by_scenario, at->key, at->value, err);
  return status;
}

pd_status config_presets_apply(config *self, error *err) {
  struct config_impl *impl = self->impl;
  const plugin *scenario = self->scenario.plugin;
  const preset_source source = {scenario, text_pool_join(&impl->memory, "preset of ", scenario->table->name, ""), NULL};
  if (!source.origin) return error_no_memory(err);
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) reset_section(&impl->core[i]);
  reset_section(&impl->scenario);
  if (impl->device_open) reset_section(&impl->device);
  const pd_status status = apply_list(self, &source, scenario->table->ops.scenario->presets, err);
  return status == PD_OK && impl->device_open ? apply_of_device(self, err) : status;
}

const char *config_presets_text(const config *self, char *text, size_t room) {
  size_t used = 0;
  text[0] = '\0';
  for (uint64_t i = 0; i < self->setting_count && used < room; i++) {
    const pd_setting *at = &self->settings[i];
    if (strncmp(at->origin, "preset of ", 10) != 0 || !strstr(at->origin, "device ")) continue;
    used += (size_t)snprintf(text + used, room - used, "%s%s %s", used ? ", " : "", at->key, at->value);
  }
  return text;
}
