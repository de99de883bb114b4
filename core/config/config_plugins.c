/* Loads the plugins that the entries name, and opens their sections; see config_impl.h. */
#include "config_impl.h"
#include "base/log.h"
#include "base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pd_status config_load_one(config *self, pd_kind kind, const char *name, const plugin **out, error *err) {
  error one;
  error_clear(&one);
  const pd_status status = plugins_load(self->plugins, kind, name, out, &one);
  if (status != PD_OK) error_merge(err, &one);
  return status;
}

void config_add_origin(error *err, const char *origin) {
  if (strcmp(origin, "default") != 0) error_wrap(err, origin);
}

/* `given` names the plugin: a failure says first where the user wrote it. */
static pd_status load_given(config *self, pd_kind kind, const entry *given, const char *name, const plugin **out,
                            error *err) {
  error one;
  error_clear(&one);
  const pd_status status = config_load_one(self, kind, name, out, &one);
  if (status == PD_OK) return status;
  config_add_origin(&one, given->origin);
  error_merge(err, &one);
  return status;
}

pd_status config_open_section(config *self, config_section *at, const char *name, const plugin *loaded, error *err) {
  return section_open_plugin(at, &self->impl->memory, name, loaded->table) == PD_OK ? PD_OK : config_no_memory(err);
}

/* Splits "table, json" and loads each. */
static pd_status load_sinks(config *self, error *err) {
  struct config_impl *impl = self->impl;
  entry given = config_early_entry(self, "sinks");
  /* Who reads a trace has its file already. */
  if (impl->is_analysis && strcmp(given.origin, "default") == 0) given.value = "table";
  const char *list = given.value;
  uint32_t most = 1;
  for (const char *at = list; *at; at++) most += *at == ',';
  self->sinks = text_pool_alloc(&impl->memory, most * sizeof *self->sinks);
  impl->sinks = text_pool_alloc(&impl->memory, most * sizeof *impl->sinks);
  impl->sinks_given = text_pool_alloc(&impl->memory, most * sizeof *impl->sinks_given);
  if (!self->sinks || !impl->sinks || !impl->sinks_given) return config_no_memory(err);
  pd_status status = PD_OK;
  while (*list) {
    size_t bytes = strcspn(list, ",");
    const char *begin = list, *next = list + bytes + (list[bytes] == ',');
    while (bytes > 0 && isspace((unsigned char)*begin)) begin++, bytes--;
    while (bytes > 0 && isspace((unsigned char)begin[bytes - 1])) bytes--;
    list = next;
    char name[4096];
    snprintf(name, sizeof name, "%.*s", (int)bytes, begin);
    if (!name[0]) {
      status =
          error_add(err, PD_INVALID, CODE_CONFIG, "%s: [run] sinks = %s: an empty name", given.origin, given.value);
      continue;
    }
    const plugin *loaded = NULL;
    const pd_status one = load_given(self, PD_KIND_SINK, &given, name, &loaded, err);
    if (one != PD_OK) {
      status = one;
      continue;
    }
    for (uint32_t i = 0; i < self->sink_count; i++)
      if (strcmp(self->sinks[i].plugin->table->name, loaded->table->name) == 0)
        status = error_add(err, PD_INVALID, CODE_CONFIG, "%s: [run] sinks = %s: %s is there twice", given.origin,
                           given.value, loaded->table->name);
    const char *section_name = text_pool_join(&impl->memory, "sink.", loaded->table->name, "");
    impl->sinks_given[self->sink_count] = text_pool_text(&impl->memory, name);
    if (!section_name || !impl->sinks_given[self->sink_count]) return config_no_memory(err);
    if (config_open_section(self, &impl->sinks[self->sink_count], section_name, loaded, err) != PD_OK)
      return PD_NO_MEMORY;
    self->sinks[self->sink_count++].plugin = loaded;
  }
  return status;
}

/* The first error's line; valid until the next call. */
static const char *first_line(const error *err) {
  static char line[ERROR_LINE_BYTES];
  return error_first_line(err, line, sizeof line);
}

/* A build or machine without CUDA is no broken plugin: the user has no usable device. */
static pd_status load_device(config *self, const entry *given, error *err, error *no_cuda) {
  error one;
  error_clear(&one);
  pd_status status = load_given(self, PD_KIND_DEVICE, given, given->value, &self->device.plugin, &one);
  if (status != PD_OK && strcmp(given->value, "cuda") == 0) {
    error_set(no_cuda, status, FAULT_NO_DEVICE, "%s; run on the CPU with --device cpu", first_line(&one));
    return PD_OK;
  }
  error_merge(err, &one);
  if (status == PD_OK) status = config_open_section(self, &self->impl->device, "device", self->device.plugin, err);
  self->impl->device_open = status == PD_OK;
  return status;
}

static pd_status add_reader(config *self, const plugin *loaded, error *err) {
  struct config_impl *impl = self->impl;
  const char *name = text_pool_join(&impl->memory, "reader.", loaded->table->name, "");
  const pd_status status =
      name ? config_open_section(self, &impl->readers[self->reader_count], name, loaded, err) : config_no_memory(err);
  if (status == PD_OK) self->readers[self->reader_count++].plugin = loaded;
  return status;
}

/* The reader that the user gives by its path. */
static pd_status load_reader_file(config *self, error *err) {
  const plugin *loaded = NULL;
  const char *given = self->impl->reader;
  if (!given || !strchr(given, '/')) return PD_OK;
  const pd_status status = plugins_load(self->plugins, PD_KIND_READER, given, &loaded, err);
  return status == PD_OK ? add_reader(self, loaded, err) : status;
}

/* Loads every reader and fills its section "reader.NAME". Warns of a reader that does not load, and leaves it out; so
 * it does, without a word, one that has the name of a reader before it. */
static pd_status load_readers(config *self, error *err) {
  struct config_impl *impl = self->impl;
  plugin_file *files;
  uint32_t count;
  if (plugins_scan(self->plugins, PD_KIND_READER, &files, &count) != PD_OK) return config_no_memory(err);
  self->readers = text_pool_alloc(&impl->memory, (count + 2) * sizeof *self->readers);
  impl->readers = text_pool_alloc(&impl->memory, (count + 2) * sizeof *impl->readers);
  pd_status status = self->readers && impl->readers ? load_reader_file(self, err) : config_no_memory(err);
  for (uint32_t i = 0; i < count && status == PD_OK; i++) {
    const plugin *loaded = NULL;
    error one;
    error_clear(&one);
    if (files[i].shadowed_by) continue;
    if (plugins_load(self->plugins, PD_KIND_READER, files[i].path, &loaded, &one) != PD_OK) {
      log_line(PD_LOG_WARN, NULL, "%s", first_line(&one));
      continue;
    }
    if (self->reader_count && strcmp(self->readers[0].plugin->table->name, loaded->table->name) == 0) continue;
    status = add_reader(self, loaded, err);
  }
  plugins_scan_free(files, count);
  return status;
}

static pd_status open_plugins(config *self, error *err) {
  const entry folders = config_early_entry(self, "plugin_path");
  plugins_warn_of_missing(folders.value, folders.origin);
  self->plugins = plugins_open(folders.value);
  if (!self->plugins) return config_no_memory(err);
  if (self->impl->tries_plugins) plugins_try_first(self->plugins);
  return PD_OK;
}

/* For the analysis of a trace. */
static pd_status load_for_analysis(config *self, error *err) {
  pd_status status = open_plugins(self, err);
  if (status == PD_OK) status = load_sinks(self, err);
  section_give(&self->impl->core[CORE_RUN], "scenario", "analyze", "default", err);
  return status == PD_OK ? load_readers(self, err) : status;
}

/* A cuda that does not load goes to `no_cuda`, which is reported once all keys are valid. */
pd_status config_load_plugins(config *self, error *err, error *no_cuda) {
  if (self->impl->is_analysis) return load_for_analysis(self, err);
  const entry scenario = config_early_entry(self, "scenario"), device = config_early_entry(self, "device");
  if (!scenario.value && self->impl->entry_count && self->impl->entries[0].line)
    return error_add(err, PD_INVALID, FAULT_MISSING,
                     "[run] scenario: must be given, and %.*s does not set it; add --scenario NAME, or give this file "
                     "after one that names a scenario",
                     (int)(strrchr(self->impl->entries[0].origin, ':') - self->impl->entries[0].origin),
                     self->impl->entries[0].origin);
  if (!scenario.value)
    return error_add(err, PD_INVALID, FAULT_MISSING,
                     "[run] scenario: must be given; name one by --scenario NAME or a file by -c; see pdhost --list");
  if (!scenario.value[0])
    return error_add(err, PD_INVALID, FAULT_VALUE, "%s: [run] scenario: is empty; name one; see pdhost --list",
                     scenario.origin);
  if (!device.value[0])
    return error_add(err, PD_INVALID, FAULT_VALUE, "%s: [run] device: is empty; write cuda, cpu or auto",
                     device.origin);
  if (open_plugins(self, err) != PD_OK) return PD_NO_MEMORY;
  pd_status status = load_given(self, PD_KIND_SCENARIO, &scenario, scenario.value, &self->scenario.plugin, err);
  if (status == PD_OK)
    status = config_open_section(self, &self->impl->scenario, "scenario", self->scenario.plugin, err);
  self->device_auto = strcmp(device.value, "auto") == 0;
  pd_status other = self->device_auto ? PD_OK : load_device(self, &device, err, no_cuda);
  if (status == PD_OK) status = other;
  other = load_sinks(self, err);
  return status == PD_OK ? other : status;
}

/* A note where one file replaces the scenario of another. */
void config_tell_of_two_scenarios(const config *self) {
  const struct config_impl *impl = self->impl;
  const entry *before = NULL;
  for (uint32_t i = 0; i < impl->entry_count; i++) {
    const entry *at = &impl->entries[i];
    if (!at->line || !at->key || strcmp(at->section, "run") != 0 || strcmp(at->key, "scenario") != 0) continue;
    if (before && strcmp(before->value, at->value) != 0)
      log_line(PD_LOG_WARN, NULL, "%s: [run] scenario = %s replaces %s of %s", at->origin, at->value, before->value,
               before->origin);
    before = at;
  }
}
