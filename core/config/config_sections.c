/* The sections of a configuration; see config_sections.h. */
#include "config_sections.h"

#include "abi/plugins.h"
#include "base/suggest.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- memory ---- */

void *text_pool_alloc(text_pool *self, size_t bytes) {
  if (!PD_ARRAY_FIT(self->blocks, self->room, self->count + 1)) return NULL;
  void *block = calloc(1, bytes ? bytes : 1);
  if (block) self->blocks[self->count++] = block;
  return block;
}

char *text_pool_join(text_pool *self, const char *a, const char *b, const char *c) {
  const size_t bytes = strlen(a) + strlen(b) + strlen(c) + 1;
  char *text = text_pool_alloc(self, bytes);
  if (text) snprintf(text, bytes, "%s%s%s", a, b, c);
  return text;
}

char *text_pool_text(text_pool *self, const char *text) { return text_pool_join(self, text, "", ""); }

void text_pool_free(text_pool *self) {
  for (size_t i = 0; i < self->count; i++) free(self->blocks[i]);
  free(self->blocks);
  *self = (text_pool){.blocks = NULL};
}

/* ---- sections ---- */

void section_reset(config_section *self, uint32_t row) {
  section_value *at = &self->values[row];
  char why[256]; /* a default that does not parse was refused with the row */
  if (at->given) return;
  *at = (section_value){.text = NULL};
  if (!self->rows[row].def) return;
  option_parse(&self->rows[row], self->rows[row].def, &at->value, why, sizeof why);
  at->text = self->rows[row].def;
  at->origin = "default";
}

static pd_status set_defaults(config_section *self, text_pool *memory) {
  self->values = text_pool_alloc(memory, self->count * sizeof *self->values);
  if (!self->values) return PD_NO_MEMORY;
  for (uint32_t i = 0; i < self->count; i++) section_reset(self, i);
  return PD_OK;
}

pd_status section_open_core(config_section *self, text_pool *memory, const core_section *core, void *options) {
  *self = (config_section){.name = core->name, .rows = core->rows, .count = core->count, .options = options};
  return set_defaults(self, memory);
}

pd_status section_open_plugin(config_section *self, text_pool *memory, const char *name, const pd_plugin *table) {
  pd_option *rows = text_pool_alloc(memory, table->option_count * sizeof *rows);
  *self = (config_section){.name = text_pool_text(memory, name),
                           .owner = text_pool_join(memory, plugin_kind_name(table->kind), " ", table->name),
                           .rows = rows,
                           .count = table->option_count,
                           .options = table->option_count ? text_pool_alloc(memory, table->options_size) : NULL};
  if (!rows || !self->name || !self->owner || (self->count && !self->options)) return PD_NO_MEMORY;
  for (uint32_t i = 0; i < self->count; i++) rows[i] = plugin_option(table, i);
  return set_defaults(self, memory);
}

int section_find(const config_section *self, const char *key) {
  const char *other = self->owner ? NULL : core_alias(self->name, key);
  for (uint32_t i = 0; i < self->count; i++)
    if (strcmp(self->rows[i].key, other ? other : key) == 0) return (int)i;
  return -1;
}

bool section_is_default(const config_section *self, uint32_t row) {
  option_value value;
  char why[256];
  return self->rows[row].def && self->values[row].text &&
         option_parse(&self->rows[row], self->rows[row].def, &value, why, sizeof why) &&
         option_equal(&self->rows[row], &value, &self->values[row].value);
}

pd_status section_set(config_section *self, const char *key, const char *text, const char *origin, int code,
                      error *err) {
  const int row = section_find(self, key);
  if (row < 0) {
    section_unknown_key(self, key, origin, err);
    return PD_INVALID;
  }
  option_value value;
  char why[768];
  if (!option_parse(&self->rows[row], text, &value, why, sizeof why))
    return error_add(err, PD_INVALID, code == CODE_CONFIG ? FAULT_VALUE : code, "%s: [%s] %s = %s: %s", origin,
                     self->name, key, text, why);
  self->values[row] = (section_value){.value = value, .text = text, .origin = origin};
  return PD_OK;
}

pd_status section_give(config_section *self, const char *key, const char *text, const char *origin, error *err) {
  const pd_status status = section_set(self, key, text, origin, CODE_CONFIG, err);
  if (status == PD_OK) self->values[section_find(self, key)].given = true;
  return status;
}

void section_unknown_key(const config_section *self, const char *key, const char *origin, error *err) {
  char hint[160];
  suggest near = {.wanted = key};
  for (uint32_t i = 0; i < self->count; i++) suggest_offer(&near, self->rows[i].key);
  uint32_t alias_count;
  const core_alias_row *aliases = core_aliases(&alias_count);
  for (uint32_t i = 0; i < alias_count; i++)
    if (!self->owner && strcmp(aliases[i].section, self->name) == 0) suggest_offer(&near, aliases[i].alias);
  suggest_text(&near, hint, sizeof hint);
  for (uint32_t s = 0; s < CORE_SECTION_COUNT && !hint[0]; s++)
    for (uint32_t i = 0; i < core_section_at(s)->count; i++)
      if (strcmp(core_section_at(s)->rows[i].key, key) == 0)
        snprintf(hint, sizeof hint, "; it is a key of [%s]", core_section_at(s)->name);
  if (!hint[0] && self->owner)
    snprintf(hint, sizeof hint, "; see pdhost --help-%s", self->owner);
  else if (!hint[0])
    snprintf(hint, sizeof hint, "; see pdhost --help-section %s", self->name);
  error_add(err, PD_INVALID, FAULT_KEY, "%s: [%s] %s: no such key%s%s%s", origin, self->name, key,
            self->owner ? " of " : "", self->owner ? self->owner : "", hint);
}

/* `text` with each <scenario> replaced; `text` itself when there is none; NULL on no memory. */
static const char *replace_scenario(text_pool *memory, const char *text, const char *scenario) {
  static const char mark[] = "<scenario>";
  for (const char *at; (at = strstr(text, mark));) {
    char *head = text_pool_alloc(memory, (size_t)(at - text) + 1);
    if (!head) return NULL;
    memcpy(head, text, (size_t)(at - text));
    text = text_pool_join(memory, head, scenario, at + sizeof mark - 1);
    if (!text) return NULL;
  }
  return text;
}

pd_status section_store(config_section *self, text_pool *memory, const char *scenario, error *err) {
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < self->count; i++) {
    const pd_option *row = &self->rows[i];
    section_value *at = &self->values[i];
    if (!at->text) {
      status = error_add(err, PD_INVALID, FAULT_MISSING, "[%s] %s: must be given: %s", self->name, row->key, row->help);
      continue;
    }
    option_value value = at->value;
    if (row->type == PD_PATH) value.text = replace_scenario(memory, value.text, scenario);
    if (row->type == PD_PATH && !value.text) return error_no_memory(err);
    option_store(row, &value, self->options);
  }
  return status;
}

/* The path of a row as the plugin gets it; NULL: the row is none, or has none. */
static const char *path_of(const config_section *self, uint32_t row) {
  const char *path = NULL;
  if (self->rows[row].type == PD_PATH && self->values[row].text)
    memcpy(&path, (const char *)self->options + self->rows[row].offset, sizeof path);
  return path && path[0] ? path : NULL;
}

static bool names_folder(const config_section *self, uint32_t row) {
  const char *key = self->rows[row].key;
  const size_t length = strlen(key);
  return length >= 3 && strcmp(key + length - 3, "dir") == 0;
}

static const char *without_dot(const char *path) {
  while (path[0] == '.' && path[1] == '/') path += 1 + strspn(path + 1, "/");
  return path;
}

/* Whether two sinks would write one file: any number may write to a device or a pipe, or into one folder. */
static bool same_file(const char *a, const char *b) {
  struct stat about;
  if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0) return strcmp(a, b) == 0;
  return strcmp(without_dot(a), without_dot(b)) == 0 && (stat(a, &about) != 0 || S_ISREG(about.st_mode));
}

typedef struct path_row {
  const config_section *in;
  uint32_t row;
} path_row;

static void add_taken(path_row first, path_row second, error *err) {
  /* The one that the user wrote is the one to change; the other may be a default. */
  const bool blame_first = strcmp(second.in->values[second.row].origin, "default") == 0;
  const path_row blamed = blame_first ? first : second, other = blame_first ? second : first;
  const section_value *at = &blamed.in->values[blamed.row];
  const bool is_stdout = strcmp(at->value.text, "-") == 0;
  error_add(err, PD_INVALID, FAULT_FILES, "%s: [%s] %s = %s: %s [%s] %s already (%s); give one of the two %s",
            at->origin, blamed.in->name, blamed.in->rows[blamed.row].key, at->value.text,
            is_stdout ? "standard output goes to" : "that file is of", other.in->name, other.in->rows[other.row].key,
            other.in->values[other.row].origin, is_stdout ? "a file" : "another");
}

static bool find_taker(const config_section *sinks, path_row of, path_row *found) {
  const char *path = path_of(of.in, of.row);
  for (const config_section *in = sinks; path && in <= of.in; in++)
    for (uint32_t row = 0; row < (in == of.in ? of.row : in->count); row++) {
      const char *other = path_of(in, row);
      if (!other || names_folder(in, row) || !same_file(other, path)) continue;
      *found = (path_row){in, row};
      return true;
    }
  return false;
}

void sections_check_paths(const config_section *sinks, uint32_t count, error *err) {
  path_row first;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t row = 0; row < sinks[i].count; row++)
      if (!names_folder(&sinks[i], row) && find_taker(sinks, (path_row){&sinks[i], row}, &first))
        add_taken(first, (path_row){&sinks[i], row}, err);
}
