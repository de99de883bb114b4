/* See plugin_file.h. */
#include "plugin_file.h"

#include "abi/option.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const pd_plugin *plugin_file_open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  cr_assert(library, "%s", dlerror());
  const pd_plugin *(*entry)(void);
  *(void **)&entry = dlsym(library, "pd_plugin_entry");
  cr_assert(entry, "%s: no entry", path);
  return entry();
}

static void store(const pd_option *row, const char *text, void *options) {
  option_value value;
  char why[256] = "";
  cr_assert(option_parse(row, text, &value, why, sizeof why), "%s: %s", row->key, why);
  option_store(row, &value, options);
}

static const pd_option *row_at(const pd_plugin *plugin, uint32_t index) {
  return (const void *)((const char *)plugin->options + (size_t)index * plugin->option_size);
}

void *plugin_file_options(const pd_plugin *plugin) {
  void *options = calloc(1, plugin->options_size ? plugin->options_size : 1);
  cr_assert(options);
  for (uint32_t i = 0; i < plugin->option_count; i++) store(row_at(plugin, i), row_at(plugin, i)->def, options);
  return options;
}

void plugin_file_set(const pd_plugin *plugin, void *options, const char *key, const char *text) {
  uint32_t i = 0;
  while (i < plugin->option_count && strcmp(row_at(plugin, i)->key, key) != 0) i++;
  cr_assert(i < plugin->option_count, "no option %s", key);
  store(row_at(plugin, i), text, options);
}
