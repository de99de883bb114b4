/* `pdhost help TOPIC`; see help.h. A topic is looked for where it is most likely meant, in that order. */
#include "explain.h"
#include "help.h"
#include "words.h"
#include "cli/commands.h"

#include "config/config_sections.h"
#include "base/suggest.h"
#include "base/wrap.h"

#include <stdio.h>
#include <string.h>

typedef struct concept {
  const char *name, *text; /* paragraphs, with an empty line between them */
}
concept;

static const concept concepts[] = {
    {"configuration",
     "A configuration is an INI file: sections in brackets, then key = value. A ; or # begins a comment.\n\n"
     "The layers, later ones win key by key: the defaults, the presets of the scenario, the files of -c in order, -o "
     "SECTION.KEY=VALUE, and named options such as --batch_size.\n\n"
     "pdhost --show-config prints every key with its value and where that is from. pdhost --check finds mistakes."},
    {"schedule", "The profiler goes through cycles of steps: `wait` steps with the profiler off, `warmup` steps with "
                 "it on and their "
                 "records thrown away, and `active` steps that are recorded as one window. `repeat` says how many "
                 "cycles there are, "
                 "and `skip_first` how many steps come before the first one.\n\n"
                 "closed, ready and record are other names of wait, warmup and active. range = 5,9 records steps 5 to "
                 "8 and replaces "
                 "the cycles. See pdhost help section schedule."},
    {"verdict",
     "The verdict names what held the run up: its cause, the part of the step that would be saved without it, the time "
     "of a step to expect then, and what to try next. It is made from the records of the window, not from what the "
     "scenario "
     "says that it injects.\n\n"
     "pdhost --list causes lists the causes. pdhost explain CAUSE says what one is."},
    {"overlay",
     "An overlay is a configuration file that sets only some keys and is given after another file, as in pdhost -c "
     "my.ini -c overlay.ini. Its keys win."},
    {"plugin",
     "Scenarios, sinks and devices are plugins: shared objects in scenario/, sink/ and device/ below lib/pdhost. "
     "--plugin-path FOLDER, [run] plugin_path and PDHOST_PLUGIN_PATH name further folders. A path such as ./x.so loads "
     "that file.\n\n"
     "pdhost --list shows them, pdhost help NAME shows the keys of one, pdhost --check-plugin FILE tests one."},
    {"benchmark",
     "With [run] mode = benchmark the step is timed alone, in blocks, and a measurement is written. pdhost compare "
     "compares measurements, pdhost ab measures two configurations in turns, pdhost sweep measures many."},
    {"exit codes",
     "0 done; 1 internal error; 2 command line; 3 configuration; 4 plugin; 5 scenario; 6 device; 7 the result cannot "
     "be "
     "trusted; 8 an output cannot be written; 9 --gate: slower; 10 --gate: unclear; 11 rerun: something differs; 128+n "
     "ended by signal n."},
};
enum { CONCEPT_COUNT = sizeof concepts / sizeof concepts[0] };

static bool print_concept(const char *name) {
  for (uint32_t i = 0; i < CONCEPT_COUNT; i++) {
    if (strcmp(concepts[i].name, name) != 0) continue;
    printf("%s\n", name);
    for (const char *at = concepts[i].text; *at;) {
      const char *end = strstr(at, "\n\n");
      char paragraph[1024];
      const size_t bytes = end ? (size_t)(end - at) : strlen(at);
      snprintf(paragraph, sizeof paragraph, "%.*s", (int)bytes, at);
      printf("%s  ", at == concepts[i].text ? "" : "\n");
      wrap_print(paragraph, 2, 2);
      at += bytes + (end ? 2 : 0);
    }
    return true;
  }
  return false;
}

static bool print_command(const char *name) {
  const args_command *found = commands_find(name);
  if (!found) return false;
  static char help[] = "--help", program[] = "pdhost";
  char command[64];
  snprintf(command, sizeof command, "%s", name);
  char *words[] = {program, command, help, NULL};
  (void)found->main(2, words + 1);
  return true;
}

static bool print_section(const char *topic, error *err) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(topic, "."), topic);
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++)
    if (strcmp(core_section_at(i)->name, name) == 0) {
      (void)help_section(topic, false, err);
      return true;
    }
  return false;
}

/* A plugin of that name that does not load is the failure to tell of. */
static bool print_plugin(const char *name, error *err) {
  static error failure; /* large; the main thread's alone */
  error_clear(&failure);
  plugins *all = plugins_open(NULL);
  const bool found = all && help_plugin(all, 0, name, false, &failure) == PD_OK;
  plugins_close(all);
  const bool is_there = failure.count && failure.lines[0].fault == FAULT_LOADING;
  if (is_there) error_merge(err, &failure);
  return found || is_there;
}

static void suggest_topic(const char *topic, error *err) {
  char hint[160];
  uint32_t count;
  suggest near = {.wanted = topic};
  const args_command *const *all = commands_all(&count);
  for (uint32_t i = 0; i < count; i++) suggest_offer(&near, all[i]->name);
  for (uint32_t i = 0; i < CONCEPT_COUNT; i++) suggest_offer(&near, concepts[i].name);
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    suggest_offer(&near, core_section_at(i)->name);
    for (uint32_t row = 0; row < core_section_at(i)->count; row++)
      suggest_offer(&near, core_section_at(i)->rows[row].key);
  }
  explain_offer(&near);
  suggest_text(&near, hint, sizeof hint);
  error_set(err, PD_INVALID, FAULT_TOPIC, "help %s: no such topic%s", topic,
            hint[0] ? hint : "; give a command, a section, a key, a plugin or a word of the output");
}

pd_status help_topic(char **words, uint32_t count, error *err) {
  char topic[256] = "";
  const char *kind = words[0];
  const bool has_kind = count > 1 && (strcmp(kind, "key") == 0 || strcmp(kind, "section") == 0 ||
                                      strcmp(kind, "command") == 0 || strcmp(kind, "plugin") == 0);
  for (uint32_t i = has_kind; i < count; i++)
    snprintf(topic + strlen(topic), sizeof topic - strlen(topic), "%s%s", topic[0] ? " " : "", words[i]);
  if (has_kind && strcmp(kind, "section") == 0) return help_section(topic, false, err);
  if (has_kind && strcmp(kind, "key") == 0 && words_print_key(topic)) return PD_OK;
  if (has_kind && strcmp(kind, "plugin") == 0 && print_plugin(topic, err)) return err->count ? err->status : PD_OK;
  if (!has_kind && print_concept(topic)) return PD_OK;
  if (print_command(topic)) return PD_OK;
  if (print_section(topic, err)) return err->count ? err->status : PD_OK;
  if (words_print_key(topic) || print_plugin(topic, err)) return err->count ? err->status : PD_OK;
  static error unknown; /* large; the main thread's alone */
  error_clear(&unknown);
  if (explain_print(topic, &unknown) == PD_OK) return PD_OK;
  suggest_topic(topic, err);
  return err->status;
}
