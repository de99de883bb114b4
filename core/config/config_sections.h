/* The sections of one configuration: for each the rows it knows, the struct they fill, and per key its present value
 * and where that came from. config.c's alone. */
#ifndef CORE_CONFIG_CONFIG_SECTIONS_H
#define CORE_CONFIG_CONFIG_SECTIONS_H

#include "core_options.h"
#include "abi/option.h"
#include "base/error.h"

/* Memory that goes all at once. */
typedef struct text_pool {
  void **blocks;
  size_t count, room;
} text_pool;
void *text_pool_alloc(text_pool *self, size_t bytes); /* zeroed; NULL on no memory */
char *text_pool_text(text_pool *self, const char *text);
char *text_pool_join(text_pool *self, const char *a, const char *b, const char *c);
void text_pool_free(text_pool *self);

typedef struct section_value {
  option_value value;
  const char *text;   /* NULL: not set */
  const char *origin; /* "default", "conf/x.ini:12" */
  bool given;         /* by the user: presets leave it alone */
} section_value;

typedef struct config_section {
  const char *name;  /* "data", "sink.table" */
  const char *owner; /* "scenario sync", or NULL for the core's */
  const pd_option *rows;
  uint32_t count;
  void *options; /* the struct the rows fill; NULL when there are no rows */
  section_value *values;
} config_section;

/* Sets up a section with its rows' defaults. Rows are the core's own, or copied out of the plugin's. */
pd_status section_open_core(config_section *self, text_pool *memory, const core_section *core, void *options);
pd_status section_open_plugin(config_section *self, text_pool *memory, const char *name, const pd_plugin *table);

/* Index of the row called `key`, or of the one it is another name of; -1: none. */
int section_find(const config_section *self, const char *key);

/* Parses and sets; a mistake is added to `err` with `code` as "ORIGIN: [section] key = value: why". Text and origin are
 * kept by pointer. */
pd_status section_set(config_section *self, const char *key, const char *text, const char *origin, int code,
                      error *err);

/* The same for a setting of the user's. */
pd_status section_give(config_section *self, const char *key, const char *text, const char *origin, error *err);

/* Back to its default, where the user has not given it. */
void section_reset(config_section *self, uint32_t row);

/* Adds "no such key" with the nearest one, or with where it is a key. */
void section_unknown_key(const config_section *self, const char *key, const char *origin, error *err);

/* Fills the struct, with <scenario> replaced in paths; keys that must be given and were not are added to `err`. */
pd_status section_store(config_section *self, text_pool *memory, const char *scenario, error *err);

/* Adds an error where one file, or "-" for standard output, is given for more than one path of the sinks. A key that
 * ends in "dir" is a folder's, which sinks may share. */
void sections_check_paths(const config_section *sinks, uint32_t count, error *err);

bool section_is_default(const config_section *self, uint32_t row);

#endif
