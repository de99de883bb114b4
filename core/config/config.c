/* The configuration; see config.h. The order: read everything, load the plugins it names, then check every key against
 * the rows of the core and of those plugins. */
#include "config.h"

#include "config_faults.h"
#include "config_impl.h"
#include "config_presets.h"
#include "ini_file.h"
#include "placeholders.h"
#include "base/log.h"
#include "base/suggest.h"

#include <pdhost/array.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_KEYS = 4096, DEVICE_CANDIDATES = 2 };

static pd_status no_memory(error *err) {
  (void)error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  return PD_NO_MEMORY;
}

/* ---- reading ---- */

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
    error_add(r->err, PD_INVALID, FAULT_UNREADABLE, "%s:%d: more than %d lines; this is no configuration", r->path,
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
static pd_status read_layers(config *self, const config_input *input, error *err) {
  for (uint32_t i = 0; i < input->file_count; i++) {
    file_reader r = {.self = self, .path = input->files[i], .first = self->impl->entry_count, .err = err};
    if (ini_file_read(r.path, take_row, &r, err) == PD_NO_MEMORY) return PD_NO_MEMORY;
  }
  for (uint32_t i = 0; i < input->assignment_count; i++) {
    const config_assignment *at = &input->assignments[i];
    if (!add_entry(self, at->section, at->key, at->value, at->origin, 0)) return no_memory(err);
  }
  return PD_OK;
}

/* What stands for a key of [run] before sections exist: its last assignment, else its row's default. */
static entry early_entry(const config *self, const char *key) {
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

/* ---- plugins ---- */

static pd_status load_one(config *self, pd_kind kind, const char *name, const plugin **out, error *err) {
  error one;
  error_clear(&one);
  const pd_status status = plugins_load(self->plugins, kind, name, out, &one);
  if (status != PD_OK) error_merge(err, &one);
  return status;
}

static void add_origin(error *err, const char *origin) {
  if (strcmp(origin, "default") != 0) error_wrap(err, origin);
}

/* `given` names the plugin: a failure says first where the user wrote it. */
static pd_status load_given(config *self, pd_kind kind, const entry *given, const char *name, const plugin **out,
                            error *err) {
  error one;
  error_clear(&one);
  const pd_status status = load_one(self, kind, name, out, &one);
  if (status == PD_OK) return status;
  add_origin(&one, given->origin);
  error_merge(err, &one);
  return status;
}

static pd_status open_section(config *self, config_section *at, const char *name, const plugin *loaded, error *err) {
  return section_open_plugin(at, &self->impl->memory, name, loaded->table) == PD_OK ? PD_OK : no_memory(err);
}

/* Splits "table, json" and loads each. */
static pd_status load_sinks(config *self, error *err) {
  struct config_impl *impl = self->impl;
  entry given = early_entry(self, "sinks");
  /* Who reads a trace has its file already. */
  if (impl->is_analysis && strcmp(given.origin, "default") == 0) given.value = "table";
  const char *list = given.value;
  uint32_t most = 1;
  for (const char *at = list; *at; at++) most += *at == ',';
  self->sinks = text_pool_alloc(&impl->memory, most * sizeof *self->sinks);
  impl->sinks = text_pool_alloc(&impl->memory, most * sizeof *impl->sinks);
  impl->sinks_given = text_pool_alloc(&impl->memory, most * sizeof *impl->sinks_given);
  if (!self->sinks || !impl->sinks || !impl->sinks_given) return no_memory(err);
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
    if (!section_name || !impl->sinks_given[self->sink_count]) return no_memory(err);
    if (open_section(self, &impl->sinks[self->sink_count], section_name, loaded, err) != PD_OK) return PD_NO_MEMORY;
    self->sinks[self->sink_count++].plugin = loaded;
  }
  return status;
}

/* Of the first error; valid until the next call. */
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
  if (status == PD_OK) status = open_section(self, &self->impl->device, "device", self->device.plugin, err);
  self->impl->device_open = status == PD_OK;
  return status;
}

static pd_status add_reader(config *self, const plugin *loaded, error *err) {
  struct config_impl *impl = self->impl;
  const char *name = text_pool_join(&impl->memory, "reader.", loaded->table->name, "");
  const pd_status status =
      name ? open_section(self, &impl->readers[self->reader_count], name, loaded, err) : no_memory(err);
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
  if (plugins_scan(self->plugins, PD_KIND_READER, &files, &count) != PD_OK) return no_memory(err);
  self->readers = text_pool_alloc(&impl->memory, (count + 2) * sizeof *self->readers);
  impl->readers = text_pool_alloc(&impl->memory, (count + 2) * sizeof *impl->readers);
  pd_status status = self->readers && impl->readers ? load_reader_file(self, err) : no_memory(err);
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
  const entry folders = early_entry(self, "plugin_path");
  plugins_warn_of_missing(folders.value, folders.origin);
  self->plugins = plugins_open(folders.value);
  if (!self->plugins) return no_memory(err);
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

/* A cuda that does not load goes to `no_cuda`, which is told once all keys are sound. */
static pd_status load_plugins(config *self, error *err, error *no_cuda) {
  if (self->impl->is_analysis) return load_for_analysis(self, err);
  const entry scenario = early_entry(self, "scenario"), device = early_entry(self, "device");
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
  if (status == PD_OK) status = open_section(self, &self->impl->scenario, "scenario", self->scenario.plugin, err);
  self->device_auto = strcmp(device.value, "auto") == 0;
  pd_status other = self->device_auto ? PD_OK : load_device(self, &device, err, no_cuda);
  if (status == PD_OK) status = other;
  other = load_sinks(self, err);
  return status == PD_OK ? other : status;
}

/* A note where one file replaces the scenario of another. */
static void tell_of_two_scenarios(const config *self) {
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

/* ---- layers ---- */

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
    if (load_one(self, PD_KIND_DEVICE, names[i], &loaded, &reasons) != PD_OK) continue;
    if (section_open_plugin(&candidates[count], &self->impl->memory, "device", loaded->table) == PD_OK) count++;
  }
  if (count == 0) {
    add_origin(&reasons, early_entry(self, "device").origin);
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
    if (load_one(self, PD_KIND_DEVICE, known[i], &loaded, &ignored) != PD_OK || loaded == self->device.plugin ||
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
  const entry chosen = early_entry(self, "device");
  if (!names[0])
    section_unknown_key(&self->impl->device, at->key, at->origin, err);
  else if (is_of_replaced_device(self, at))
    log_line(PD_LOG_WARN, NULL, "%s: [device] %s: left out: it is a key of %s, and %s chose device %s", at->origin,
             at->key, names, chosen.origin, chosen.value);
  else
    error_add(err, PD_INVALID, FAULT_KEY, "%s: [device] %s: no such key of %s; it is a key of %s", at->origin, at->key,
              self->impl->device.owner, names);
}

/* Whether the sink writes to standard output, by what its section has and the command line (from `typed` on) adds. One
 * without a path is taken to. */
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

static void apply_entries(config *self, error *err) {
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

/* ---- checks across keys ---- */

static const section_value *value_of(const config *self, uint32_t core, const char *key) {
  const config_section *at = &self->impl->core[core];
  return &at->values[section_find(at, key)];
}

/* "5,9" or "5:9": steps 5 to 8. */
static bool parse_range(const char *text, uint64_t *start, uint64_t *end) {
  const pd_option row = {.type = PD_INT, .min = "0", .max = "1_000_000_000"};
  char part[2][32], why[256];
  const char *mark = strpbrk(text, ",:");
  if (!mark || mark - text > 30 || strlen(mark) > 30) return false;
  snprintf(part[0], sizeof part[0], "%.*s", (int)(mark - text), text);
  snprintf(part[1], sizeof part[1], "%s", mark + 1 + (mark[1] == ' '));
  option_value values[2];
  for (int i = 0; i < 2; i++)
    if (!option_parse(&row, part[i], &values[i], why, sizeof why)) return false;
  *start = (uint64_t)values[0].integer;
  *end = (uint64_t)values[1].integer;
  return *start < *end;
}

static void plan_schedule(config *self, error *err) {
  const schedule_settings *s = &self->schedule;
  self->plan = (schedule){.skip_first = (uint64_t)s->skip_first,
                          .wait = (uint64_t)s->wait,
                          .warmup = (uint64_t)s->warmup,
                          .active = s->active == SCHEDULE_ACTIVE_ALL ? SCHEDULE_FOREVER : (uint64_t)s->active,
                          .repeat = (uint64_t)s->repeat};
  if (!s->range[0]) return;
  static const char *const replaced[] = {"skip_first", "wait", "warmup", "active", "repeat"};
  const section_value *range = value_of(self, CORE_SCHEDULE, "range");
  uint64_t start, end;
  if (!parse_range(s->range, &start, &end)) {
    error_add(err, PD_INVALID, FAULT_CLASH,
              "%s: [schedule] range = %s: write START,END with START below END, for example 5,9 for steps 5 to 8",
              range->origin, range->text);
    return;
  }
  for (size_t i = 0; i < sizeof replaced / sizeof replaced[0]; i++) {
    const section_value *other = value_of(self, CORE_SCHEDULE, replaced[i]);
    if (strcmp(other->origin, "default") != 0)
      error_add(err, PD_INVALID, FAULT_CLASH, "%s: [schedule] range = %s: replaces %s, which %s sets too",
                range->origin, range->text, replaced[i], other->origin);
  }
  self->plan = schedule_from_range(start, end);
}

static void check_callgrind(const config *self, error *err) {
  const section_value *steps = value_of(self, CORE_BENCHMARK, "callgrind");
  const bool cuda = strcmp(self->run.device, "cuda") == 0 ||
                    (self->device.plugin && strcmp(self->device.plugin->table->name, "cuda") == 0);
  if (cuda)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] callgrind = %s: " CALLGRIND_NO_GPU, steps->origin,
              steps->text);
}

static void check_benchmark(const config *self, error *err) {
  const benchmark_settings *b = &self->benchmark;
  const section_value *number = value_of(self, CORE_BENCHMARK, "number");
  const section_value *max = value_of(self, CORE_BENCHMARK, "max_run_time");
  const bool timeit = strcmp(b->method, "timeit") == 0;
  if (timeit && b->number == 0 && !b->cold_cache)
    error_add(
        err, PD_INVALID, FAULT_CLASH,
        "%s: [benchmark] method = timeit: needs number, the runs of its one block, as in -o benchmark.number=1000",
        value_of(self, CORE_BENCHMARK, "method")->origin);
  if (timeit && b->min_blocks > 1)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] min_blocks = %s: method = timeit takes one block",
              value_of(self, CORE_BENCHMARK, "min_blocks")->origin, value_of(self, CORE_BENCHMARK, "min_blocks")->text);
  if (b->cold_cache && b->number > 1)
    error_add(err, PD_INVALID, FAULT_CLASH,
              "%s: [benchmark] number = %s: with cold_cache each run is a block; leave number out", number->origin,
              number->text);
  if (strcmp(b->method, "adaptive_autorange") == 0 && b->min_run_time > b->max_run_time)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] max_run_time = %s: below min_run_time = %s", max->origin,
              max->text, value_of(self, CORE_BENCHMARK, "min_run_time")->text);
  if (b->callgrind) check_callgrind(self, err);
}

/* As a label shows it: numbers in one spelling. */
static const char *label_value(void *user, const char *name, const char *key) {
  config *self = user;
  const config_section *in = config_find_section(self, name);
  const int row = in ? section_find(in, key) : -1;
  char number[32];
  if (row < 0) return NULL;
  const section_value *at = &in->values[row];
  if (in->rows[row].type != PD_INT || strcmp(at->text, "all") == 0) return at->text;
  snprintf(number, sizeof number, "%lld", (long long)at->value.integer);
  return text_pool_text(&self->impl->memory, number);
}

/* What a measurement is called follows from what runs, also where the command line changes that. */
static void fill_labels(config *self, error *err) {
  const char **const texts[] = {&self->benchmark.label, &self->benchmark.sub_label, &self->benchmark.description,
                                &self->benchmark.env, &self->benchmark.output};
  static const char *const keys[] = {"label", "sub_label", "description", "env", "output"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const section_value *at = value_of(self, CORE_BENCHMARK, keys[i]);
    char where[512];
    snprintf(where, sizeof where, "%s: [benchmark] %s = %s", at->origin, keys[i], at->text);
    (void)placeholders_fill(&self->impl->memory, texts[i], label_value, self, where, err);
  }
}

static void finish_core(config *self, error *err) {
  struct config_impl *impl = self->impl;
  static const struct {
    const char *name;
    data_resident value;
  } residents[] = {{"none", DATA_RESIDENT_NONE}, {"host", DATA_RESIDENT_HOST}, {"device", DATA_RESIDENT_DEVICE}};
  for (size_t i = 0; i < sizeof residents / sizeof residents[0]; i++)
    if (strcmp(impl->data.resident, residents[i].name) == 0) impl->data.config.resident = residents[i].value;
  self->data = impl->data.config;
  self->data.seed = (uint64_t)self->run.seed;
  self->train.seed = (uint64_t)self->run.seed;
  self->train.batch_size = self->data.batch_size;
  self->train.image_size = self->data.image_size;
  self->train.with_flops = self->profile.with_flops;
  self->train.with_modules = self->profile.with_modules;
  if (self->data.drop_last && self->data.dataset_size < self->data.batch_size) {
    const section_value *size = value_of(self, CORE_DATA, "dataset_size");
    error_add(err, PD_INVALID, FAULT_CLASH,
              "%s: [data] dataset_size = %s: below batch_size = %s, so with drop_last there is no batch", size->origin,
              size->text, value_of(self, CORE_DATA, "batch_size")->text);
  }
  if (self->data.prefetch_to_device && !self->data.pin_memory) {
    const section_value *prefetch = value_of(self, CORE_DATA, "prefetch_to_device");
    error_add(
        err, PD_INVALID, FAULT_CLASH,
        "%s: [data] prefetch_to_device = %s: the copy of pageable memory holds up the loop; set pin_memory = true",
        prefetch->origin, prefetch->text);
  }
  if (!self->run.trace_dir[0])
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [run] trace_dir is empty; name a folder, . for this one",
              value_of(self, CORE_RUN, "trace_dir")->origin);
  fill_labels(self, err);
  plan_schedule(self, err);
  if (strcmp(self->run.mode, "benchmark") == 0) check_benchmark(self, err);
}

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
  if (!settings) return no_memory(err);
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
      return no_memory(err);
  return PD_OK;
}

/* [benchmark] threads is the device's own key by another name, and wins over it. A device that `auto` took may have
 * none.
 */
static void apply_threads(const config *self, config_section *device, error *err) {
  const section_value *threads = value_of(self, CORE_BENCHMARK, "threads");
  if (strcmp(value_of(self, CORE_RUN, "mode")->text, "benchmark") != 0 || threads->value.integer == 0) return;
  if (section_find(device, "threads") >= 0)
    (void)section_set(device, "threads", threads->text, threads->origin, CODE_CONFIG, err);
  else if (!self->device_auto)
    error_add(err, PD_INVALID, FAULT_CLASH, "%s: [benchmark] threads = %s: %s has no `threads` option; remove it",
              threads->origin, threads->text, device->owner);
}

static pd_status store_all(config *self, error *err) {
  struct config_impl *impl = self->impl;
  const char *scenario = self->scenario.plugin ? self->scenario.plugin->table->name : "analyze";
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) section_store(&impl->core[i], &impl->memory, scenario, err);
  section_store(&impl->scenario, &impl->memory, scenario, err);
  self->scenario.options = impl->scenario.options;
  if (impl->device_open) {
    apply_threads(self, &impl->device, err);
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

/* Where a plugin is missing: every key whose section is known. What belongs to that plugin cannot be judged. */
static void check_known(config *self, error *err) {
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

static pd_status load_into(config *self, const config_input *input, error *err) {
  error found;
  error_clear(&found);
  pd_status status = read_layers(self, input, &found);
  if (status == PD_OK) status = open_core(self, &found);
  if (status != PD_OK) goto out;
  error loading, no_cuda;
  error_clear(&loading);
  error_clear(&no_cuda);
  status = load_plugins(self, &loading, &no_cuda);
  if (status != PD_OK) { /* keys of what did load, and of the core, are checked all the same */
    if (status != PD_NO_MEMORY) check_known(self, &found);
    const bool is_unnamed = loading.count == 1 && loading.lines[0].fault == FAULT_MISSING;
    if (!is_unnamed || !found.count) { /* what a faulty file holds may be what is missing */
      error_merge(&loading, &found);
      found = loading;
    }
    goto out;
  }
  tell_of_two_scenarios(self);
  if (status != PD_OK) goto out;
  apply_entries(self, &found);
  if (!self->impl->is_analysis &&
      config_presets_apply(self, &loading) != PD_OK) { /* a fault of the plugin's, not of the user's */
    error_clear(&found);
    error_merge(&found, &loading);
    goto out;
  }
  status = store_all(self, &found);
  if (status == PD_OK) finish_core(self, &found);
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
  if (!self) return no_memory(err);
  self->impl = calloc(1, sizeof *self->impl);
  pd_status status = self->impl ? PD_OK : no_memory(err);
  if (status == PD_OK) self->impl->color = input->color;
  if (status == PD_OK) self->impl->tries_plugins = input->tries_plugins;
  if (status == PD_OK) self->impl->is_analysis = input->is_analysis;
  if (status == PD_OK) self->impl->reader = input->reader;
  if (status == PD_OK && input->command_line) {
    self->command_line = text_pool_text(&self->impl->memory, input->command_line);
    if (!self->command_line) status = no_memory(err);
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
  pd_status status = load_one(self, PD_KIND_DEVICE, name, &loaded, err);
  if (status != PD_OK) return status;
  if (open_section(self, &impl->device, "device", loaded, err) != PD_OK) return PD_NO_MEMORY;
  impl->device_open = true;
  self->device.plugin = loaded;
  for (uint32_t i = 0; i < impl->entry_count && status == PD_OK; i++) {
    const entry *at = &impl->entries[i];
    if (!at->key || strcmp(at->section, "device") != 0 || section_find(&impl->device, at->key) < 0) continue;
    status = section_give(&impl->device, at->key, at->value, at->origin, err);
  }
  if (status == PD_OK) status = config_presets_apply(self, err);
  if (status == PD_OK) status = store_all(self, err);
  if (status == PD_OK) finish_core(self, err);
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
