/* Gives each entry to the section that it is for; see config_impl.h. */
#include "config_faults.h"
#include "config_impl.h"
#include "base/log.h"
#include "base/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_CANDIDATES = 2 };

bool config_row(config *self, const char *section, const char *key, pd_option *out) {
  const config_section *found = config_find_section(self, section);
  const int row = found ? section_find(found, key) : -1;
  if (row >= 0) *out = found->rows[row];
  return row >= 0;
}

static void unknown_section(config *self, const entry *at, error *err) {
  char hint[256] = "", names[128];
  suggest near = {.wanted = at->section};
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) suggest_offer(&near, self->impl->core[i].name);
  suggest_offer(&near, "scenario");
  suggest_offer(&near, "device");
  for (uint32_t i = 0; i < self->sink_count; i++) suggest_offer(&near, self->impl->sinks[i].name);
  if (strncmp(at->section, "sink.", 5) == 0) {
    suggest_text(&near, hint, sizeof hint);
    if (at->key)
      error_add(err, PD_INVALID, FAULT_SECTION, "%s: [%s] %s: sink %s is not in use%s", at->origin, at->section,
                at->key, at->section + 5, hint[0] ? hint : "; add it to [run] sinks or leave the key out");
    return;
  }
  if (at->line && !at->section[0]) {
    error_add(err, PD_INVALID, FAULT_SECTION, "%s: %s: a key comes before the first [section]", at->origin, at->key);
    return;
  }
  if (at->line && at->key) return; /* said at its heading */
  const char *best = suggest_best(&near);
  for (uint32_t i = 0; i < self->sink_count && !best; i++)
    if (strcmp(self->impl->sinks[i].name + 5, at->section) == 0) best = self->impl->sinks[i].name;
  if (best)
    snprintf(hint, sizeof hint, "; did you mean [%s]?", best);
  else
    snprintf(hint, sizeof hint, "; there are %s, scenario, device and sink.NAME",
             core_section_names(names, sizeof names));
  error_add(err, PD_INVALID, FAULT_SECTION, "%s: [%s]: no such section%s", at->origin, at->section, hint);
}

/* With device = auto: every device that may be taken knows the key, or one of them does. */
static void check_auto_key(const entry *at, config_section candidates[DEVICE_CANDIDATES], uint32_t count, error *err) {
  const config_section *known = NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (section_find(&candidates[i], at->key) < 0) continue;
    known = &candidates[i];
    if (section_set(&candidates[i], at->key, at->value, at->origin, CODE_CONFIG, err) != PD_OK) return;
  }
  if (!known && count > 0) section_unknown_key(&candidates[count - 1], at->key, at->origin, err);
}

/* The devices behind "auto", loaded only when there are keys to check: the others are not opened for nothing. */
static uint32_t open_candidates(config *self, config_section candidates[DEVICE_CANDIDATES], error *err) {
  static const char *const names[DEVICE_CANDIDATES] = {"cuda", "cpu"};
  uint32_t count = 0;
  error reasons;
  error_clear(&reasons);
  for (int i = 0; i < DEVICE_CANDIDATES; i++) {
    const plugin *loaded = NULL;
    if (config_load_one(self, PD_KIND_DEVICE, names[i], &loaded, &reasons) != PD_OK) continue;
    if (section_open_plugin(&candidates[count], &self->impl->memory, "device", loaded->table) == PD_OK) count++;
  }
  if (count == 0) {
    config_add_origin(&reasons, config_early_entry(self, "device").origin);
    error_merge(err, &reasons);
  }
  return count;
}

/* The file of an entry is the part of its origin before ":LINE". */
static bool same_file(const entry *a, const entry *b) {
  const size_t length = (size_t)(strrchr(a->origin, ':') - a->origin);
  return a->line && b->line && length == (size_t)(strrchr(b->origin, ':') - b->origin) &&
         strncmp(a->origin, b->origin, length) == 0;
}

/* Whether what chose the device came after the file of `at`: its keys may have been meant for another one. */
static bool is_of_replaced_device(const config *self, const entry *at) {
  const struct config_impl *impl = self->impl;
  for (const entry *later = impl->entries + impl->entry_count - 1; at->line && later > at; later--)
    if (later->key && strcmp(later->section, "run") == 0 && strcmp(later->key, "device") == 0)
      return !same_file(at, later);
  return false;
}

/* Names the known devices, other than the chosen one, that have the key: "device cpu"; "" when none has. */
static void devices_with(config *self, const char *key, char *names, size_t room) {
  static const char *const known[DEVICE_CANDIDATES] = {"cuda", "cpu"};
  size_t used = 0;
  names[0] = '\0';
  for (int i = 0; i < DEVICE_CANDIDATES; i++) {
    const plugin *loaded = NULL;
    config_section section;
    error ignored; /* one that does not load has no say here */
    error_clear(&ignored);
    if (config_load_one(self, PD_KIND_DEVICE, known[i], &loaded, &ignored) != PD_OK || loaded == self->device.plugin ||
        section_open_plugin(&section, &self->impl->memory, "device", loaded->table) != PD_OK ||
        section_find(&section, key) < 0)
      continue;
    used += (size_t)snprintf(names + used, room - used, "%s%s", used ? " and " : "device ", known[i]);
  }
}

/* A key that the chosen device lacks. In a file that a later setting gave another device it is left out, with a word.
 */
static void foreign_device_key(config *self, const entry *at, error *err) {
  char names[64];
  devices_with(self, at->key, names, sizeof names);
  const entry chosen = config_early_entry(self, "device");
  if (!names[0])
    section_unknown_key(&self->impl->device, at->key, at->origin, err);
  else if (is_of_replaced_device(self, at))
    log_line(PD_LOG_WARN, NULL, "%s: [device] %s: left out: it is a key of %s, and %s chose device %s", at->origin,
             at->key, names, chosen.origin, chosen.value);
  else
    error_add(err, PD_INVALID, FAULT_KEY, "%s: [device] %s: no such key of %s; it is a key of %s", at->origin, at->key,
              self->impl->device.owner, names);
}

/* Whether the sink writes to standard output: its section says where it writes, and the command line's entries (from
 * `typed` on) may change that. A sink without a path is taken to write there. */
static bool writes_to_stdout(config *self, const config_section *sink, uint32_t typed) {
  const struct config_impl *impl = self->impl;
  bool has_path = false, to_stdout = false;
  for (uint32_t row = 0; row < sink->count; row++) {
    if (sink->rows[row].type != PD_PATH) continue;
    const char *path = sink->values[row].text;
    for (uint32_t i = typed; i < impl->entry_count; i++) {
      const entry *at = &impl->entries[i];
      if (at->key && config_find_section(self, at->section) == sink && section_find(sink, at->key) == (int)row)
        path = at->value;
    }
    has_path = true;
    to_stdout = to_stdout || (path && strcmp(path, "-") == 0);
  }
  return to_stdout || !has_path;
}

/* --color reaches the sinks that have such a key and write to standard output, over what files say and under what the
 * command line says of it. */
static pd_status apply_color(config *self, uint32_t typed, error *err) {
  struct config_impl *impl = self->impl;
  for (uint32_t i = 0; impl->color && i < self->sink_count; i++) {
    config_section *to = &impl->sinks[i];
    const int row = section_find(to, "color");
    const char *const *choice = row >= 0 && to->rows[row].type == PD_CHOICE ? to->rows[row].choices : NULL;
    while (choice && *choice && strcmp(*choice, impl->color) != 0) choice++;
    if (!choice || !*choice || !writes_to_stdout(self, to, typed)) continue;
    const pd_status status = section_set(to, "color", *choice, "command line", CODE_CONFIG, err);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}

void config_apply_entries(config *self, error *err) {
  struct config_impl *impl = self->impl;
  config_section candidates[DEVICE_CANDIDATES];
  uint32_t candidate_count = 0;
  bool candidates_open = false;
  uint32_t typed = 0;
  while (typed < impl->entry_count && impl->entries[typed].line) typed++;
  for (uint32_t i = 0; i <= impl->entry_count; i++) {
    if (i == typed && apply_color(self, typed, err) != PD_OK) return;
    if (i == impl->entry_count) return;
    const entry *at = &impl->entries[i];
    config_section *to = config_find_section(self, at->section);
    if (impl->is_analysis && (strcmp(at->section, "scenario") == 0 || strcmp(at->section, "device") == 0)) continue;
    if (to == &impl->device && at->key && section_find(to, at->key) < 0) {
      foreign_device_key(self, at, err);
    } else if (to && at->key) {
      section_give(to, at->key, at->value, at->origin, err);
    } else if (!to && strcmp(at->section, "device") == 0) {
      if (!at->key || !self->device_auto) continue; /* a cuda that is not there knows no key */
      if (!candidates_open) candidate_count = open_candidates(self, candidates, err);
      candidates_open = true;
      check_auto_key(at, candidates, candidate_count, err);
    } else if (!to) {
      unknown_section(self, at, err);
    }
  }
}

/* Where a plugin is missing: every key whose section is known. What belongs to that plugin cannot be judged. */
void config_check_known(config *self, error *err) {
  for (uint32_t i = 0; i < self->impl->entry_count; i++) {
    const entry *at = &self->impl->entries[i];
    config_section *to = config_find_section(self, at->section);
    const bool is_plugins = strcmp(at->section, "scenario") == 0 || strcmp(at->section, "device") == 0 ||
                            strncmp(at->section, "sink.", 5) == 0;
    if (to && to->rows && at->key && !(is_plugins && strcmp(at->section, "device") == 0))
      section_set(to, at->key, at->value, at->origin, CODE_CONFIG, err);
    else if (!to && !is_plugins)
      unknown_section(self, at, err);
  }
}
