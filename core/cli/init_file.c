/* See init_file.h. */
#include "init_file.h"

#include "abi/option.h"
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 79 };

/* `text` as comment lines of at most COLUMNS columns. */
static void comment(FILE *to, const char *text) {
  while (*text) {
    size_t bytes = strlen(text), room = COLUMNS - 2;
    if (bytes > room) {
      bytes = room;
      while (bytes > 1 && text[bytes] != ' ') bytes--;
      if (bytes == 1) bytes = room;
    }
    fprintf(to, "# %.*s\n", (int)bytes, text);
    text += bytes;
    text += strspn(text, " ");
  }
}

static void write_row(FILE *to, const pd_option *row, const char *value, const char *origin) {
  char allowed[640], line[1024];
  size_t used = (size_t)snprintf(line, sizeof line, "%s", option_type_name(row->type));
  if (row->unit && strcmp(row->unit, line) != 0)
    used += (size_t)snprintf(line + used, sizeof line - used, ", in %s", row->unit);
  option_allowed(row, allowed, sizeof allowed);
  const bool bounded = row->type != PD_BOOL && allowed[0];
  if (bounded) used += (size_t)snprintf(line + used, sizeof line - used, "; allowed: %s", allowed);
  snprintf(line + used, sizeof line - used, "; default: %s",
           !row->def     ? "none, it must be given"
           : row->def[0] ? row->def
                         : "(empty)");
  fputc('\n', to);
  comment(to, row->help);
  comment(to, line);
  if (origin && strncmp(origin, "preset of ", 10) == 0) {
    snprintf(line, sizeof line, "%s sets %s", origin + 10, value);
    comment(to, line);
  }
}

static const char *summary_of(const config *settings, const char *section) {
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++)
    if (strcmp(core_section_at(i)->name, section) == 0) return core_section_at(i)->summary;
  for (uint32_t i = 0; i < settings->sink_count; i++)
    if (strncmp(section, "sink.", 5) == 0 && strcmp(settings->sinks[i].plugin->table->name, section + 5) == 0)
      return settings->sinks[i].plugin->table->summary;
  return settings->scenario.plugin->table->summary;
}

static void write_settings(FILE *to, config *settings) {
  const char *section = "";
  pd_option row;
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strcmp(at->section, "device") == 0 || !config_row(settings, at->section, at->key, &row)) continue;
    if (strcmp(section, at->section) != 0) {
      fprintf(to, "\n[%s]\n", at->section);
      comment(to, summary_of(settings, at->section));
    }
    section = at->section;
    const bool given = strcmp(at->origin, "init") == 0;
    write_row(to, &row, at->value, at->origin);
    fprintf(to, "%s%s = %s\n", given ? "" : ";", at->key, at->value);
  }
}

static bool has_row(const pd_plugin *table, const char *key) {
  for (uint32_t i = 0; table && i < table->option_count; i++)
    if (strcmp(plugin_option(table, i).key, key) == 0) return true;
  return false;
}

/* Both devices read [device]; the keys of the one that a run does not take are left out of it. */
static void write_devices(FILE *to, plugins *from) {
  static const char *const names[] = {"cpu", "cuda"};
  const pd_plugin *before = NULL;
  error ignored;
  fputs("\n[device]\n", to);
  for (int i = 0; i < 2; i++) {
    const plugin *found = NULL;
    error_clear(&ignored);
    if (plugins_load(from, PD_KIND_DEVICE, names[i], &found, &ignored) != PD_OK) continue;
    char line[512];
    snprintf(line, sizeof line, "of device %s: %s", names[i], found->table->summary);
    if (before) fputc('\n', to);
    comment(to, line);
    for (uint32_t at = 0; at < found->option_count; at++) {
      const pd_option row = plugin_option(found->table, at);
      if (has_row(before, row.key)) continue;
      write_row(to, &row, row.def, NULL);
      fprintf(to, ";%s = %s\n", row.key, row.def ? row.def : "");
    }
    before = found->table;
  }
}

static void write_all(FILE *to, const char *path, config *settings) {
  const char *scenario = settings->scenario.plugin->table->name;
  fprintf(to,
          "# Every key of pdhost, for the scenario %s.\n"
          "# A line that begins with ; is the default: take the ; away to change it.\n"
          "#\n"
          "#   pdhost -c %s                  run it\n"
          "#   pdhost -c %s --show-config    every value, and where it is from\n"
          "#   pdhost --list                 more scenarios and sinks\n"
          "#   pdhost --help-sink NAME       the keys of a sink that is not in this file\n",
          scenario, path, path);
  write_settings(to, settings);
  write_devices(to, settings->plugins);
}

pd_status init_file(const char *path, const char *scenario, error *err) {
  const config_assignment given = {"run", "scenario", scenario, "init"};
  const config_input input = {.assignments = &given, .assignment_count = 1};
  config *settings = NULL;
  if (config_load(&input, &settings, err) != PD_OK) return err->status;
  FILE *to = fopen(path, "wxe");
  if (!to) {
    const int cause = errno;
    config_free(settings);
    return cause == EEXIST
               ? error_set(err, PD_IO, CODE_OUTPUT, "init: %s exists already; nothing was written", path)
               : error_set(err, PD_IO, CODE_OUTPUT, "init: %s cannot be written: %s", path, strerror(cause));
  }
  write_all(to, path, settings);
  config_free(settings);
  const bool failed = ferror(to) != 0;
  if (fclose(to) == 0 && !failed) {
    printf("%s\n", path);
    return PD_OK;
  }
  const int cause = errno;
  unlink(path);
  return error_set(err, PD_IO, CODE_OUTPUT, "init: %s cannot be written: %s", path, strerror(cause));
}
