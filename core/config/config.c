/* The configuration; see config.h. The order: read everything, load the plugins it names, then check every key against
 * the rows of the core and of those plugins. */
#include "config.h"

#include "config_faults.h"
#include "config_impl.h"
#include "config_presets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---- */

static uint64_t add_settings(const config_section *from, pd_setting *to) {
  for (uint32_t i = 0; to && i < from->count; i++) {
    const section_value *at = &from->values[i];
    const pd_option *row = &from->rows[i];
    const char *text = at->text;
    if (row->type == PD_PATH) memcpy(&text, (const char *)from->options + row->offset, sizeof text);
    to[i] = (pd_setting){.section = from->name,
                         .key = row->key,
                         .value = text,
                         .origin = at->origin,
                         .is_default = section_is_default(from, i)};
  }
  return from->count;
}

static pd_status make_settings(config *self, error *err) {
  struct config_impl *impl = self->impl;
  const config_section *all[CORE_SECTION_COUNT + 2];
  uint32_t count = 0;
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) all[count++] = &impl->core[i];
  all[count++] = &impl->scenario;
  if (impl->device_open) all[count++] = &impl->device;
  uint64_t total = 0;
  for (uint32_t i = 0; i < count; i++) total += add_settings(all[i], NULL);
  for (uint32_t i = 0; i < self->sink_count; i++) total += add_settings(&impl->sinks[i], NULL);
  for (uint32_t i = 0; i < self->reader_count; i++) total += add_settings(&impl->readers[i], NULL);
  pd_setting *settings = calloc(total ? total : 1, sizeof *settings);
  if (!settings) return config_no_memory(err);
  uint64_t used = 0;
  for (uint32_t i = 0; i < count; i++) used += add_settings(all[i], settings + used);
  for (uint32_t i = 0; i < self->sink_count; i++) used += add_settings(&impl->sinks[i], settings + used);
  for (uint32_t i = 0; i < self->reader_count; i++) used += add_settings(&impl->readers[i], settings + used);
  free(impl->settings);
  impl->settings = settings;
  self->settings = settings;
  self->setting_count = used;
  return PD_OK;
}

/* ---- the whole ---- */

static pd_status open_core(config *self, error *err) {
  void *const structs[CORE_SECTION_COUNT] = {
      [CORE_RUN] = &self->run,     [CORE_SCHEDULE] = &self->schedule, [CORE_DATA] = &self->impl->data,
      [CORE_TRAIN] = &self->train, [CORE_PROFILE] = &self->profile,   [CORE_BENCHMARK] = &self->benchmark,
      [CORE_TRUTH] = &self->truth};
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++)
    if (section_open_core(&self->impl->core[i], &self->impl->memory, core_section_at(i), structs[i]) != PD_OK)
      return config_no_memory(err);
  return PD_OK;
}

static pd_status store_all(config *self, error *err) {
  struct config_impl *impl = self->impl;
  const char *scenario = self->scenario.plugin ? self->scenario.plugin->table->name : "analyze";
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) section_store(&impl->core[i], &impl->memory, scenario, err);
  section_store(&impl->scenario, &impl->memory, scenario, err);
  self->scenario.options = impl->scenario.options;
  if (impl->device_open) {
    config_apply_threads(self, &impl->device, err);
    section_store(&impl->device, &impl->memory, scenario, err);
  }
  self->device.options = impl->device.options;
  for (uint32_t i = 0; i < self->sink_count; i++) {
    section_store(&impl->sinks[i], &impl->memory, scenario, err);
    self->sinks[i].options = impl->sinks[i].options;
  }
  for (uint32_t i = 0; i < self->reader_count; i++) {
    section_store(&impl->readers[i], &impl->memory, scenario, err);
    self->readers[i].options = impl->readers[i].options;
  }
  sections_check_paths(impl->sinks, self->sink_count, err);
  return err->count ? err->status : PD_OK;
}

static pd_status load_into(config *self, const config_input *input, error *err) {
  error found;
  error_clear(&found);
  pd_status status = config_read_layers(self, input, &found);
  if (status == PD_OK) status = open_core(self, &found);
  if (status != PD_OK) goto out;
  error loading, no_cuda;
  error_clear(&loading);
  error_clear(&no_cuda);
  status = config_load_plugins(self, &loading, &no_cuda);
  if (status != PD_OK) { /* keys of what did load, and of the core, are checked all the same */
    if (status != PD_NO_MEMORY) config_check_known(self, &found);
    const bool is_unnamed = loading.count == 1 && loading.lines[0].fault == FAULT_MISSING;
    if (!is_unnamed || !found.count) { /* what a faulty file holds may be what is missing */
      error_merge(&loading, &found);
      found = loading;
    }
    goto out;
  }
  config_tell_of_two_scenarios(self);
  if (status != PD_OK) goto out;
  config_apply_entries(self, &found);
  if (!self->impl->is_analysis &&
      config_presets_apply(self, &loading) != PD_OK) { /* a fault of the plugin's, not of the user's */
    error_clear(&found);
    error_merge(&found, &loading);
    goto out;
  }
  status = store_all(self, &found);
  if (status == PD_OK) config_finish_core(self, &found);
  if (status == PD_OK) status = make_settings(self, &found);
  if (found.count == 0) error_merge(&found, &no_cuda);
out:
  if (found.count) {
    config_faults_locate(&found, input->files, input->file_count);
    error_merge(err, &found);
  }
  return found.count ? found.status : status;
}

pd_status config_load(const config_input *input, config **out, error *err) {
  *out = NULL;
  config *self = calloc(1, sizeof *self);
  if (!self) return config_no_memory(err);
  self->impl = calloc(1, sizeof *self->impl);
  pd_status status = self->impl ? PD_OK : config_no_memory(err);
  if (status == PD_OK) self->impl->color = input->color;
  if (status == PD_OK) self->impl->tries_plugins = input->tries_plugins;
  if (status == PD_OK) self->impl->is_analysis = input->is_analysis;
  if (status == PD_OK) self->impl->reader = input->reader;
  if (status == PD_OK && input->command_line) {
    self->command_line = text_pool_text(&self->impl->memory, input->command_line);
    if (!self->command_line) status = config_no_memory(err);
  }
  if (status == PD_OK) status = load_into(self, input, err);
  if (status != PD_OK) {
    config_free(self);
    return status;
  }
  *out = self;
  return PD_OK;
}

void config_free(config *self) {
  if (!self) return;
  if (self->impl) {
    free(self->impl->entries);
    free(self->impl->settings);
    text_pool_free(&self->impl->memory);
    free(self->impl);
  }
  plugins_close(self->plugins);
  free(self);
}

pd_status config_load_device(config *self, const char *name, error *err) {
  struct config_impl *impl = self->impl;
  const plugin *loaded = NULL;
  pd_status status = config_load_one(self, PD_KIND_DEVICE, name, &loaded, err);
  if (status != PD_OK) return status;
  if (config_open_section(self, &impl->device, "device", loaded, err) != PD_OK) return PD_NO_MEMORY;
  impl->device_open = true;
  self->device.plugin = loaded;
  for (uint32_t i = 0; i < impl->entry_count && status == PD_OK; i++) {
    const entry *at = &impl->entries[i];
    if (!at->key || strcmp(at->section, "device") != 0 || section_find(&impl->device, at->key) < 0) continue;
    status = section_give(&impl->device, at->key, at->value, at->origin, err);
  }
  if (status == PD_OK) status = config_presets_apply(self, err);
  if (status == PD_OK) status = store_all(self, err);
  if (status == PD_OK) config_finish_core(self, err);
  if (status == PD_OK && err->count) status = err->status;
  return status == PD_OK ? make_settings(self, err) : status;
}

pd_status config_print(const config *self) {
  const char *section = "";
  for (uint64_t i = 0; i < self->setting_count; i++) {
    const pd_setting *at = &self->settings[i];
    if (strcmp(section, at->section) != 0) printf("%s[%s]\n", i ? "\n" : "", at->section);
    section = at->section;
    printf("# %s\n%s = %s\n", at->origin, at->key, at->value);
  }
  bool heading = false;
  for (uint32_t i = 0; i < self->impl->entry_count && !self->impl->device_open; i++) {
    const entry *at = &self->impl->entries[i];
    if (!at->key || strcmp(at->section, "device") != 0) continue;
    if (!heading) printf("\n[device]\n");
    heading = true;
    printf("# %s\n%s = %s\n", at->origin, at->key, at->value);
  }
  return PD_OK;
}
