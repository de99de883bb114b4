/* Reads every layer into entries; see config_impl.h. */
#include "config_impl.h"
#include "ini_file.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_KEYS = 4096 };

typedef struct file_reader {
  config *self;
  const char *path;
  uint32_t first; /* entry of this file */
  error *err;
} file_reader;

static bool add_entry(config *self, const char *section, const char *key, const char *value, const char *origin,
                      int line) {
  struct config_impl *impl = self->impl;
  if (!PD_ARRAY_FIT(impl->entries, impl->entry_room, impl->entry_count + 1)) return false;
  entry *row = &impl->entries[impl->entry_count++];
  *row = (entry){.section = text_pool_text(&impl->memory, section),
                 .key = key ? text_pool_text(&impl->memory, key) : NULL,
                 .value = value ? text_pool_text(&impl->memory, value) : NULL,
                 .origin = text_pool_text(&impl->memory, origin),
                 .line = line};
  return row->section && row->origin && (!key || row->key) && (!value || row->value);
}

static const char *true_key(const char *section, const char *key) {
  const char *other = core_alias(section, key);
  return other ? other : key;
}

static bool take_row(void *user, const char *section, const char *key, const char *value, int line) {
  const file_reader *r = user;
  const struct config_impl *impl = r->self->impl;
  char origin[4200];
  if (impl->entry_count - r->first == FILE_KEYS) {
    error_add(r->err, PD_INVALID, FAULT_UNREADABLE, "%s:%d: more than %d lines; this is not a configuration", r->path,
              line, FILE_KEYS);
    return true;
  }
  if (impl->entry_count - r->first > FILE_KEYS) return true;
  for (uint32_t i = r->first; key && i < impl->entry_count; i++) {
    const entry *other = &impl->entries[i];
    if (!other->key || strcmp(other->section, section) != 0 ||
        strcmp(true_key(section, other->key), true_key(section, key)) != 0)
      continue;
    const bool same = strcmp(other->key, key) == 0;
    error_add(r->err, PD_INVALID, FAULT_TWICE, "%s:%d: [%s] %s: set twice in this file, first%s%s in line %d", r->path,
              line, section, key, same ? "" : " as ", same ? "" : other->key, other->line);
    break;
  }
  snprintf(origin, sizeof origin, "%s:%d", r->path, line);
  return add_entry(r->self, section, key, value, origin, line);
}

/* Files, then the command line. A file that cannot be read at all ends the loading: what it holds may be what is
 * missing. */
pd_status config_read_layers(config *self, const config_input *input, error *err) {
  for (uint32_t i = 0; i < input->file_count; i++) {
    file_reader r = {.self = self, .path = input->files[i], .first = self->impl->entry_count, .err = err};
    if (ini_file_read(r.path, take_row, &r, err) == PD_NO_MEMORY) return PD_NO_MEMORY;
  }
  for (uint32_t i = 0; i < input->assignment_count; i++) {
    const config_assignment *at = &input->assignments[i];
    if (!add_entry(self, at->section, at->key, at->value, at->origin, 0)) return config_no_memory(err);
  }
  if (input->is_analysis && input->no_python && !add_entry(self, "reader.kineto", "python", "none", "--no-python", 0))
    return config_no_memory(err);
  return PD_OK;
}

/* What stands for a key of [run] before sections exist: its last assignment, else its row's default. */
entry config_early_entry(const config *self, const char *key) {
  const struct config_impl *impl = self->impl;
  for (uint32_t i = impl->entry_count; i > 0; i--) {
    const entry *at = &impl->entries[i - 1];
    if (at->key && strcmp(at->section, "run") == 0 && strcmp(at->key, key) == 0) return *at;
  }
  const core_section *run = core_section_at(CORE_RUN);
  entry found = {.section = "run", .key = key, .value = "", .origin = "default"};
  for (uint32_t i = 0; i < run->count; i++)
    if (strcmp(run->rows[i].key, key) == 0) found.value = run->rows[i].def;
  return found;
}
