/* The sections of a configuration; see config_sections.h. */
#include "config_sections.h"

#include "plugins.h"
#include "suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

void *text_pool_alloc(text_pool *self, size_t bytes) {
  if (self->count == self->room) {
    const size_t room = self->room ? 2 * self->room : 64;
    void **grown = realloc(self->blocks, room * sizeof *grown);
    if (!grown) return NULL;
    self->blocks = grown;
    self->room = room;
  }
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

static pd_status set_defaults(config_section *self, text_pool *memory) {
  self->values = text_pool_alloc(memory, self->count * sizeof *self->values);
  if (!self->values) return PD_NO_MEMORY;
  for (uint32_t i = 0; i < self->count; i++) {
    char why[256]; /* a default that does not parse was refused with the row */
    if (!self->rows[i].def) continue;
    option_parse(&self->rows[i], self->rows[i].def, &self->values[i].value, why, sizeof why);
    self->values[i].text = self->rows[i].def;
    self->values[i].origin = "default";
  }
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
    return error_add(err, PD_INVALID, code, "%s: [%s] %s = %s: %s", origin, self->name, key, text, why);
  self->values[row] = (section_value){.value = value, .text = text, .origin = origin};
  return PD_OK;
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
  error_add(err, PD_INVALID, CODE_CONFIG, "%s: [%s] %s: no such key%s%s%s", origin, self->name, key,
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
      status = error_add(err, PD_INVALID, CODE_CONFIG, "[%s] %s: must be given: %s", self->name, row->key, row->help);
      continue;
    }
    option_value value = at->value;
    if (row->type == PD_PATH) value.text = replace_scenario(memory, value.text, scenario);
    if (row->type == PD_PATH && !value.text) return error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    option_store(row, &value, self->options);
  }
  return status;
}

void sections_check_stdout(const config_section *sinks, uint32_t count, error *err) {
  const config_section *taker = NULL;
  uint32_t taken = 0;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t row = 0; row < sinks[i].count; row++) {
      const section_value *at = &sinks[i].values[row];
      if (sinks[i].rows[row].type != PD_PATH || !at->text || strcmp(at->value.text, "-") != 0) continue;
      if (!taker) {
        taker = &sinks[i];
        taken = row;
        continue;
      }
      /* The one that the user wrote is the one to change; the other may be a default. */
      const section_value *first = &taker->values[taken];
      const bool blame_first = strcmp(at->origin, "default") == 0;
      const section_value *blamed = blame_first ? first : at, *other = blame_first ? at : first;
      const config_section *blamed_in = blame_first ? taker : &sinks[i], *other_in = blame_first ? &sinks[i] : taker;
      const char *blamed_key = blamed_in->rows[blame_first ? taken : row].key;
      const char *other_key = other_in->rows[blame_first ? row : taken].key;
      error_add(err, PD_INVALID, CODE_CONFIG,
                "%s: [%s] %s = -: standard output goes to [%s] %s already (%s); give one of the two a file",
                blamed->origin, blamed_in->name, blamed_key, other_in->name, other_key, other->origin);
    }
  }
}
