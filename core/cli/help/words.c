/* See words.h. */
#include "words.h"

#include "help.h"
#include "words_map.h"
#include "words_trace_map.h"

#include "check/finding.h"
#include "tables/registry.h"
#include "config/config_sections.h"
#include "base/wrap.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct entry {
  const char *word, *text;
} entry;

typedef struct place {
  const char *name;
  const entry *all;
  uint32_t count;
} place;

#define X(word_, text_) {(word_), (text_)},
static const entry printed[] = {WORDS_PRINTED(X)}, of_run[] = {WORDS_RUN(X)}, of_truth[] = {WORDS_TRUTH(X)},
                   of_manifest[] = {WORDS_MANIFEST(X)}, of_measurement[] = {WORDS_MEASUREMENT(X)},
                   of_events[] = {WORDS_EVENTS(X)}, of_trace[] = {WORDS_TRACE(X)},
                   of_tensorboard[] = {WORDS_TENSORBOARD(X)}, of_tables[] = {WORDS_TABLES(X)};
#undef X
#define X(name, value, text) {#name, (text)},
static const entry of_losses[] = {PD_LOSS_MAP(X)};
#undef X
#define X(name, key, text) {(key), (text)},
static const entry of_checks[] = {CHECK_KINDS(X)};
#undef X

#define PLACE(name, of)                                                                                                \
  { (name), (of), sizeof(of) / sizeof(of)[0] }
static const place places[] = {PLACE("what is printed", printed),
                               PLACE("results of a run, json and csv", of_run),
                               PLACE("truth.json", of_truth),
                               PLACE("manifest.json", of_manifest),
                               PLACE("a measurement", of_measurement),
                               PLACE("events of the csv sink", of_events),
                               PLACE("a trace", of_trace),
                               PLACE("TensorBoard", of_tensorboard),
                               PLACE("a table of a run", of_tables),
                               PLACE("what was lost", of_losses),
                               PLACE("findings of pdhost check", of_checks)};
enum { PLACE_COUNT = sizeof places / sizeof places[0] };

/* ---- words ---- */

uint32_t words_print(const char *word, uint32_t before) {
  uint32_t found = 0;
  for (uint32_t p = 0; p < PLACE_COUNT; p++)
    for (uint32_t i = 0; i < places[p].count; i++) {
      const entry *at = &places[p].all[i];
      if (strcasecmp(at->word, word) != 0) continue;
      printf("%s%s   in %s\n  ", before + found++ ? "\n" : "", at->word, places[p].name);
      wrap_print(at->text, 2, 2);
    }
  return found;
}

void words_offer(suggest *near) {
  for (uint32_t p = 0; p < PLACE_COUNT; p++)
    for (uint32_t i = 0; i < places[p].count; i++) suggest_offer(near, places[p].all[i].word);
}

const char *words_stem(const char *word, char *text, uint32_t room) {
  static const char *const groups[] = {"summary/", "tables/", "given "};
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
    if (strncmp(word, groups[i], strlen(groups[i])) == 0) return word + strlen(groups[i]);
  const bool tag = strncmp(word, "ledger/", 7) == 0;
  const char *cause = tag ? word + 7 : word;
  size_t bytes = strlen(cause);
  if (tag && bytes > 3 && strcmp(cause + bytes - 3, "_us") == 0) bytes -= 3;
  snprintf(text, room, "ledger_%.*s", (int)bytes, cause);
  return registry_find(text) ? text : word;
}

/* ---- keys ---- */

/* A key that a device or a scenario has: of every one that has it. */
static bool print_key_of_any(plugins *all, pd_kind kind, const char *key) {
  static error ignored; /* large; the main thread's alone */
  plugin_file *files = NULL;
  uint32_t count = 0, found = 0;
  if (plugins_scan(all, kind, &files, &count) != PD_OK) return false;
  for (uint32_t i = 0; i < count; i++) {
    char topic[256];
    snprintf(topic, sizeof topic, "%s.%s", files[i].name, key);
    error_clear(&ignored);
    found += help_plugin(all, kind, topic, false, &ignored) == PD_OK;
  }
  plugins_scan_free(files, count);
  return found > 0;
}

static bool print_plugin_key(const char *word) {
  static error ignored; /* large; the main thread's alone */
  plugins *all = plugins_open(NULL);
  if (!all) return false;
  bool found = false;
  error_clear(&ignored);
  if (strncmp(word, "sink.", 5) == 0)
    found = help_plugin(all, PD_KIND_SINK, word + 5, false, &ignored) == PD_OK;
  else if (strncmp(word, "device.", 7) == 0)
    found = print_key_of_any(all, PD_KIND_DEVICE, word + 7);
  else if (strncmp(word, "scenario.", 9) == 0)
    found = print_key_of_any(all, PD_KIND_SCENARIO, word + 9);
  plugins_close(all);
  return found;
}

bool words_print_key(const char *word) {
  const char *dot = strchr(word, '.');
  const size_t bytes = dot ? (size_t)(dot - word) : 0;
  uint32_t found = 0;
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    const core_section *at = core_section_at(i);
    if (dot && (strncmp(at->name, word, bytes) != 0 || at->name[bytes])) continue;
    const char *key = dot ? dot + 1 : word, *alias = core_alias(at->name, key);
    for (uint32_t row = 0; row < at->count; row++) {
      if (strcmp(at->rows[row].key, alias ? alias : key) != 0) continue;
      static error ignored; /* large; the main thread's alone */
      char topic[128];
      error_clear(&ignored);
      snprintf(topic, sizeof topic, "%s.%s", at->name, at->rows[row].key);
      if (found++) putchar('\n');
      (void)help_section(topic, false, &ignored);
    }
  }
  return found > 0 || (dot && print_plugin_key(word));
}
