/* What config.c and its helpers share: every layer as read, and the sections that the layers fill. Theirs alone. */
#ifndef CORE_CONFIG_CONFIG_IMPL_H
#define CORE_CONFIG_CONFIG_IMPL_H

#include "config.h"
#include "config_sections.h"

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

/* The section called `name`, as a user may write it; NULL: there is none. */
config_section *config_find_section(config *self, const char *name);

#endif
