/* What may take the place of a word; see completion.h. */
#include "cli.h"
#include "commands.h"
#include "completion.h"

#include "config/cli_args.h"
#include "config/core_options.h"
#include "abi/plugins.h"
#include "config/run_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The word to complete. A word is offered where it begins as `typed` does; `before` is printed ahead of it. */
typedef struct offer {
  const char *typed, *before;
  int count;    /* words in all */
  char **words; /* those typed, the last one is to be completed */
} offer;

static void print_word(const offer *self, const char *word, const char *ending, const char *help) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s%s", word, ending);
  if (strncmp(whole, self->typed, strlen(self->typed)) != 0) return;
  printf("%s%s%s%s\n", self->before, whole, help ? "\t" : "", help ? help : "");
}

static void offer_list(const offer *self, const char *list) {
  while (list && *list) {
    const size_t bytes = strcspn(list, ",");
    char word[128];
    snprintf(word, sizeof word, "%.*s", (int)bytes, list);
    print_word(self, word, "", NULL);
    list += bytes;
    list += strspn(list, ", ");
  }
}

static void offer_plugins(const offer *self, pd_kind kind, const char *ending) {
  plugins *all = plugins_open(NULL);
  plugin_file *files = NULL;
  uint32_t count = 0;
  if (all && plugins_scan(all, kind, &files, &count) == PD_OK) {
    for (uint32_t i = 0; i < count; i++)
      if (!files[i].shadowed_by) print_word(self, files[i].name, ending, plugin_kind_name(kind));
    plugins_scan_free(files, count);
  }
  plugins_close(all);
}

static void offer_configs(const offer *self) {
  text_pool memory = {.blocks = NULL};
  uint32_t count = 0;
  const char *const *names = run_name_configs(&memory, &count);
  for (uint32_t i = 0; names && i < count; i++) print_word(self, names[i], "", "configuration");
  text_pool_free(&memory);
}

/* ---- keys ---- */

/* Rows of a plugin as "SECTION.key=". */
static void offer_plugin_keys(const offer *self, pd_kind kind, const char *name, const char *section) {
  static error ignored; /* large; the main thread's alone */
  const plugin *found = NULL;
  plugins *all = plugins_open(NULL);
  error_clear(&ignored);
  if (all && plugins_load(all, kind, name, &found, &ignored) == PD_OK) {
    for (uint32_t i = 0; i < found->option_count; i++) {
      const pd_option row = plugin_option(found->table, i);
      char key[256];
      snprintf(key, sizeof key, "%s.%s", section, row.key);
      print_word(self, key, "=", row.help);
    }
  }
  plugins_close(all);
}

/* The scenario that the words name: by --scenario, or as a word of its own. */
static const char *scenario_of(const offer *self) {
  for (int i = 0; i + 1 < self->count; i++)
    if (strcmp(self->words[i], "--scenario") == 0 && i + 2 < self->count) return self->words[i + 1];
  for (int i = 0; i + 1 < self->count; i++)
    if (self->words[i][0] != '-' && !commands_find(self->words[i]) && !strchr(self->words[i], '='))
      return self->words[i];
  return NULL;
}

static const char *device_of(const offer *self) {
  for (int i = 0; i + 2 < self->count; i++)
    if (strcmp(self->words[i], "--device") == 0 && strcmp(self->words[i + 1], "auto") != 0) return self->words[i + 1];
  return "cpu";
}

/* What may stand after "section.key=". */
static void offer_value(const offer *self, const char *equals) {
  char before[512];
  snprintf(before, sizeof before, "%s%.*s", self->before, (int)(equals + 1 - self->typed), self->typed);
  const offer value = {.typed = equals + 1, .before = before, .count = self->count, .words = self->words};
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    const core_section *at = core_section_at(i);
    for (uint32_t row = 0; row < at->count; row++) {
      char key[128];
      snprintf(key, sizeof key, "%s.%s=", at->name, at->rows[row].key);
      if (strncmp(self->typed, key, strlen(key)) != 0) continue;
      if (at->rows[row].type == PD_BOOL) offer_list(&value, "true, false");
      for (const char *const *word = at->rows[row].choices; word && *word; word++) print_word(&value, *word, "", NULL);
      if (at->rows[row].type == PD_PATH) puts(":file");
    }
  }
}

static void offer_keys(const offer *self) {
  const char *equals = strchr(self->typed, '=');
  if (equals) {
    offer_value(self, equals);
    return;
  }
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    const core_section *at = core_section_at(i);
    for (uint32_t row = 0; row < at->count; row++) {
      char key[128];
      snprintf(key, sizeof key, "%s.%s", at->name, at->rows[row].key);
      print_word(self, key, "=", at->rows[row].help);
    }
  }
  const char *scenario = scenario_of(self);
  if (scenario) offer_plugin_keys(self, PD_KIND_SCENARIO, scenario, "scenario");
  offer_plugin_keys(self, PD_KIND_DEVICE, device_of(self), "device");
  const char *dot = strncmp(self->typed, "sink.", 5) == 0 ? strchr(self->typed + 5, '.') : NULL;
  char name[128], section[160];
  if (dot) {
    snprintf(name, sizeof name, "%.*s", (int)(dot - self->typed - 5), self->typed + 5);
    snprintf(section, sizeof section, "sink.%s", name);
    offer_plugin_keys(self, PD_KIND_SINK, name, section);
  } else if (strncmp(self->typed, "sink.", 5) == 0) {
    snprintf(section, sizeof section, "%ssink.", self->before);
    const offer sinks = {.typed = self->typed + 5, .before = section};
    offer_plugins(&sinks, PD_KIND_SINK, ".");
  } else {
    print_word(self, "sink.", "", "keys of a sink");
  }
}

static void offer_sections(const offer *self) {
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    const core_section *at = core_section_at(i);
    print_word(self, at->name, "", at->summary);
    for (uint32_t row = 0; strchr(self->typed, '.') && row < at->count; row++) {
      char key[128];
      snprintf(key, sizeof key, "%s.%s", at->name, at->rows[row].key);
      print_word(self, key, "", at->rows[row].help);
    }
  }
}

static void offer_commands(const offer *self) {
  uint32_t count = 0;
  const args_command *const *all = commands_all(&count);
  for (uint32_t i = 0; i < count; i++) print_word(self, all[i]->name, "", all[i]->summary);
}

static void offer_all_plugins(const offer *self) {
  for (pd_kind kind = PD_KIND_SCENARIO; kind <= PD_KIND_COMMUNICATOR; kind++) offer_plugins(self, kind, "");
}

static void offer_of(const offer *self, args_offer what, const char *allowed) {
  switch (what) {
  case ARGS_OFFER_NOTHING: break;
  case ARGS_OFFER_CHOICES: offer_list(self, allowed); break;
  case ARGS_OFFER_FILE: puts(":file"); break;
  case ARGS_OFFER_FOLDER: puts(":folder"); break;
  case ARGS_OFFER_CONFIG:
    offer_configs(self);
    puts(":file");
    break;
  case ARGS_OFFER_KEY: offer_keys(self); break;
  case ARGS_OFFER_SECTION: offer_sections(self); break;
  case ARGS_OFFER_SCENARIO:
  case ARGS_OFFER_SINK:
  case ARGS_OFFER_DEVICE:
    offer_plugins(self,
                  what == ARGS_OFFER_SCENARIO ? PD_KIND_SCENARIO
                  : what == ARGS_OFFER_SINK   ? PD_KIND_SINK
                                              : PD_KIND_DEVICE,
                  "");
    puts(":file");
    break;
  case ARGS_OFFER_PLUGIN:
    offer_all_plugins(self);
    puts(":file");
    break;
  case ARGS_OFFER_TOPIC:
    offer_commands(self);
    offer_sections(self);
    offer_all_plugins(self);
    break;
  }
}

/* ---- words ---- */

static void offer_options(const offer *self, const args_option *options, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (args_help_text(&options[i])) print_word(self, options[i].name, "", args_help_text(&options[i]));
}

/* The rows that a command takes: its own, and those of a run. */
typedef struct known_rows {
  const args_option *own, *run;
  uint32_t own_count, run_count;
} known_rows;

static known_rows rows_of(const args_command *command) {
  known_rows found = {.own = command->options, .own_count = command->option_count};
  if (command->takes_run_options) found.run = cli_args_options(&found.run_count);
  return found;
}

static const args_option *row_of(const known_rows *rows, const char *typed, size_t bytes) {
  const args_option *row = args_find(rows->own, rows->own_count, typed, bytes);
  return row ? row : args_find(rows->run, rows->run_count, typed, bytes);
}

void completion_offer(const args_command *shells, int count, char **words) {
  const args_command *named = count > 1 ? commands_find(words[0]) : NULL;
  const args_command *command = named ? named : &cli_run_command;
  const known_rows rows = rows_of(command);
  const char *typed = words[count - 1], *equals = strchr(typed, '=');
  offer self = {.typed = typed, .before = "", .count = count, .words = words};
  const char *last = count > 1 ? words[count - 2] : "";
  const args_option *before = last[0] == '-' ? row_of(&rows, last, strlen(last)) : NULL;
  char kept[512];
  if (before && (before->value == ARGS_REQUIRED || (before->value == ARGS_NEXT && typed[0] != '-'))) {
    offer_of(&self, before->offer, before->allowed);
  } else if (typed[0] == '-' && equals) {
    const args_option *row = row_of(&rows, typed, (size_t)(equals - typed));
    snprintf(kept, sizeof kept, "%.*s", (int)(equals + 1 - typed), typed);
    self.typed = equals + 1;
    self.before = kept;
    if (row) offer_of(&self, row->offer, row->allowed);
  } else if (typed[0] == '-') {
    offer_options(&self, rows.own, rows.own_count);
    offer_options(&self, rows.run, rows.run_count);
  } else {
    if (count == 1) offer_commands(&self);
    if (count == 1) offer_plugins(&self, PD_KIND_SCENARIO, "");
    if (command == shells)
      offer_list(&self, "bash, zsh, fish");
    else
      offer_of(&self, command->words, NULL);
  }
}
