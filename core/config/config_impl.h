/* What config.c and its helpers share: every layer as read, and the sections that the layers fill. Theirs alone. */
#ifndef CORE_CONFIG_CONFIG_IMPL_H
#define CORE_CONFIG_CONFIG_IMPL_H

#include "config.h"
#include "config_sections.h"
#include "base/faults.h"

/* One assignment of any layer; key NULL: the heading of a section. */
typedef struct entry {
  const char *section, *key, *value, *origin;
  int line; /* of its file; 0: command line */
} entry;

struct config_impl {
  text_pool memory;
  entry *entries;
  uint32_t entry_count, entry_room;
  data_settings data;
  config_section core[CORE_SECTION_COUNT];
  config_section scenario, device, *sinks, *readers;
  const char **sinks_given; /* as the user wrote them: a path's options may be given under the path */
  bool device_open, tries_plugins, is_analysis;
  const char *color;  /* --color, or NULL */
  const char *reader; /* as config_input has it */
  pd_setting *settings;
};

/* Fills `err`; returns PD_NO_MEMORY. */
static inline pd_status config_no_memory(error *err) {
  (void)error_no_memory(err);
  return PD_NO_MEMORY;
}

/* The section called `name`, as a user may write it; NULL: there is none. */
config_section *config_find_section(config *self, const char *name);

/* ---- config_layers.c ---- */

/* Files, -o and flags as entries, in their order. */
pd_status config_read_layers(config *self, const config_input *input, error *err);
/* The last entry of [run] `key`, or of a plugin's kind, before anything is checked; its key is NULL where there is
 * none. */
entry config_early_entry(const config *self, const char *key);

/* ---- config_plugins.c ---- */

pd_status config_load_one(config *self, pd_kind kind, const char *name, const plugin **out, error *err);
/* Puts where the plugin was named before the first line. */
void config_add_origin(error *err, const char *origin);
/* Opens a plugin's section: its rows with their defaults. */
pd_status config_open_section(config *self, config_section *at, const char *name, const plugin *loaded, error *err);
/* The scenario, the device, the sinks; with is_analysis the sinks and every reader. `no_cuda`: why device "auto" is not
 * the CUDA device. */
pd_status config_load_plugins(config *self, error *err, error *no_cuda);
void config_tell_of_two_scenarios(const config *self);

/* ---- config_entries.c ---- */

/* Sets every key that an entry gives, and collects the mistakes. */
void config_apply_entries(config *self, error *err);
/* The same where a plugin is missing: every key whose section is known. What belongs to that plugin cannot be judged.
 */
void config_check_known(config *self, error *err);

/* ---- config_checks.c ---- */

void config_apply_threads(const config *self, config_section *device, error *err);
/* The schedule, the benchmark's keys, the labels: what follows from several keys. */
void config_finish_core(config *self, error *err);

#endif
