/* Help pages; see help.h. */
#include "help.h"

#include "help_json.h"
#include "cli/commands.h"

#include "config/config_sections.h"
#include "abi/option.h"
#include "base/suggest.h"
#include "base/wrap.h"

#include <stdio.h>
#include <string.h>

enum { SUMMARY_COLUMN = 13 };

void help_print(void) {
  uint32_t count;
  const args_command *const *all = commands_all(&count);
  fputs("usage: pdhost [COMMAND] [NAME] [options]\n"
        "\n"
        "Says what held a GPU training up: a program of yours (record, analyze), or a\n"
        "small network with a known bottleneck built in.\n"
        "\n"
        "  pdhost dataloader                       run a shipped configuration\n"
        "  pdhost sync --batch_size 32             with another setting\n"
        "  pdhost -c my.ini -o data.num_workers=8  your own file, and one key changed\n"
        "  pdhost --list                           scenarios, sinks and devices\n"
        "  pdhost help data.num_workers            what a key does, and its range\n"
        "\n"
        "commands (pdhost COMMAND --help)\n",
        stdout);
  for (uint32_t i = 0; i < count; i++) {
    int used = printf("  ");
    used += wrap_pad(all[i]->name, SUMMARY_COLUMN - 2);
    wrap_print(all[i]->summary, used, SUMMARY_COLUMN);
  }
  fputs("\n"
        "options of a run (all of them: pdhost run --help)\n"
        "  -c FILE                     read an INI file; later ones win, key by key\n"
        "  -o SECTION.KEY=VALUE        set one key\n"
        "  --mode benchmark            time the step alone, and write a measurement\n"
        "  --scenario, --device NAME   a name of --list, or the path of a .so\n"
        "  --sink NAME[:KEY=VALUE,..]  write results with this sink, not the configured\n"
        "  --show-config, --check      print all keys and their origin; check them\n"
        "  --dry-run                   print the plan, and what it will take\n"
        "  --check-plugin FILE         run the conformance checks on a plugin\n"
        "  -q, -v, --color, --progress less or more output, colours, progress line\n"
        "  -V, --version, -h, --help\n",
        stdout);
}

/* ---- rows ---- */

enum { HELP_COLUMN = 47, VALUE_COLUMN = 11 };

static void print_row(const char *section, const pd_option *row) {
  char allowed[640];
  option_allowed(row, allowed, sizeof allowed);
  printf("[%s] %s\n  ", section, row->key);
  wrap_print(row->help, 2, 2);
  printf("  type     %s\n", option_type_name(row->type));
  printf("  default  %s\n", row->def ? row->def[0] ? row->def : "(empty)" : "none: it must be given");
  if (row->unit) printf("  unit     %s\n", row->unit);
  if (allowed[0]) {
    const bool choices = row->type == PD_CHOICE || row->type == PD_STRING || row->type == PD_BOOL;
    wrap_print(allowed, printf("  %s  ", choices ? "choices" : "range  "), VALUE_COLUMN);
  }
  if (row->type == PD_BYTES) printf("  suffix   B, KiB, MiB, GiB\n");
  if (row->type == PD_DURATION) printf("  suffix   ns, us, ms, s\n");
  printf("  example  -o %s.%s=%s\n", section, row->key,
         row->type == PD_BOOL      ? (row->def && strcmp(row->def, "true") == 0 ? "false" : "true")
         : row->def && row->def[0] ? row->def
         : row->min                ? row->min
                                   : "VALUE");
}

static void print_rows(const pd_option *rows, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const pd_option *row = &rows[i];
    int used = printf("  %-20s %-8s  ", row->key, option_type_name(row->type));
    used += wrap_pad(row->def ? row->def : "(required)", 12);
    used += printf(" ");
    wrap_print(row->help, used, HELP_COLUMN);
  }
}

static pd_status print_json(json_t *value, int depth, error *err) {
  if (json_text_write(value, depth, JSON_TEXT_ROUNDED, stdout)) return PD_OK;
  return error_no_memory(err);
}

static pd_status print_key(const char *section, const pd_option *rows, uint32_t count, const char *key, bool json,
                           error *err) {
  char hint[128];
  suggest near = {.wanted = key};
  for (uint32_t i = 0; i < count; i++) {
    suggest_offer(&near, rows[i].key);
    if (strcmp(rows[i].key, key) != 0) continue;
    if (json) return print_json(help_json_row(&rows[i]), 0, err);
    print_row(section, &rows[i]);
    return PD_OK;
  }
  return error_set(err, PD_INVALID, FAULT_TOPIC, "[%s] %s: no such key%s", section, key,
                   suggest_text(&near, hint, sizeof hint));
}

/* ---- core ---- */

pd_status help_section(const char *topic, bool json, error *err) {
  const size_t bytes = strcspn(topic, ".");
  char name[64], hint[256], names[128];
  snprintf(name, sizeof name, "%.*s", (int)bytes, topic);
  suggest near = {.wanted = name};
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    const core_section *at = core_section_at(i);
    suggest_offer(&near, at->name);
    if (strcmp(at->name, name) != 0) continue;
    if (topic[bytes]) {
      const char *alias = core_alias(name, topic + bytes + 1);
      return print_key(name, at->rows, at->count, alias ? alias : topic + bytes + 1, json, err);
    }
    if (json)
      return print_json(json_pack("{s:s, s:s, s:o}", "section", at->name, "summary", at->summary, "options",
                                  help_json_rows(at->rows, at->count)),
                        2, err);
    const int used = printf("[%s]   ", at->name);
    wrap_print(at->summary, used, used);
    putchar('\n');
    print_rows(at->rows, at->count);
    return PD_OK;
  }
  if (strcmp(name, "sink") == 0 || strcmp(name, "scenario") == 0 || strcmp(name, "device") == 0)
    return error_set(err, PD_INVALID, FAULT_TOPIC,
                     "--help-section %s: its keys are a plugin's; see pdhost --help-%s %s", topic, name,
                     strcmp(name, "sink") == 0 && topic[bytes] ? topic + bytes + 1 : "NAME");
  if (!suggest_text(&near, hint, sizeof hint)[0])
    snprintf(hint, sizeof hint, "; there are %s", core_section_names(names, sizeof names));
  return error_set(err, PD_INVALID, FAULT_TOPIC, "--help-section %s: no such section%s", name, hint);
}

/* ---- plugins ---- */

static const char *section_of(const pd_plugin *table, char *text, size_t room) {
  if (table->kind == PD_KIND_SINK || table->kind == PD_KIND_READER)
    snprintf(text, room, "%s.%s", plugin_kind_name(table->kind), table->name);
  else
    snprintf(text, room, "%s", plugin_kind_name(table->kind));
  return text;
}

static void print_text(const plugin *at, const char *section, const pd_option *rows) {
  const pd_plugin *table = at->table;
  const bool scenario = table->kind == PD_KIND_SCENARIO;
  int used = wrap_pad(table->name, 0);
  used += printf(" ");
  used += wrap_pad(table->version, 0);
  used += printf("   %s   ", plugin_kind_name(table->kind));
  wrap_print(table->summary, used, used);
  if (scenario) printf("ground truth: %s\n", table->ops.scenario->bottleneck);
  printf("%s\n", at->path);
  const pd_preset *preset = scenario ? table->ops.scenario->presets : NULL;
  if (preset && preset->key) printf("\nIt presets (and you may override):\n");
  for (; preset && preset->key; preset++) printf("  %-20s  %s\n", preset->key, preset->value);
  for (preset = scenario ? table->ops.scenario->presets : NULL; preset && preset->key; preset++)
    if (strcmp(preset->key, "data.resident") == 0 && strcmp(preset->value, "none") != 0)
      printf("Its batches are made before the loop and stay on the %s: num_workers and its\n"
             "like have no effect unless -o data.resident=none.\n",
             preset->value);
  printf("\nKeys of [%s]:%s\n", section, table->option_count ? "" : "  none");
  print_rows(rows, table->option_count);
  if (scenario) printf("\nSee also: pdhost --help-section data\n");
}

static json_t *presets_of(const pd_scenario_ops *of) {
  json_t *object = json_object();
  for (const pd_preset *preset = of->presets; preset && preset->key; preset++)
    (void)json_text_add(object, preset->key, json_text_of(preset->value));
  return object;
}

static json_t *json_of(const plugin *at, const char *section, const pd_option *rows) {
  const pd_plugin *table = at->table;
  char abi[32];
  snprintf(abi, sizeof abi, "%u.%u", table->abi_major, table->abi_minor);
  json_t *object =
      json_pack("{s:s, s:s, s:o, s:s, s:s, s:o, s:o}", "name", table->name, "kind", plugin_kind_name(table->kind),
                "version", json_text_of(table->version), "abi", abi, "section", section, "path", json_text_of(at->path),
                "summary", json_text_of(table->summary));
  bool whole = object != NULL;
  if (table->kind == PD_KIND_SCENARIO) {
    const pd_scenario_ops *ops = table->ops.scenario;
    whole = json_text_add(object, "bottleneck", json_text_of(ops->bottleneck)) &&
            json_text_add(object, "presets", presets_of(ops)) && whole;
  }
  if (json_text_add(object, "options", help_json_rows(rows, table->option_count)) && whole) return object;
  json_decref(object);
  return NULL;
}

/* Tries the kinds in turn; a plugin that is there and does not load is the failure to tell of. */
static pd_status load_any(plugins *from, pd_kind kind, const char *name, const plugin **out, error *err) {
  if (kind) return plugins_load(from, kind, name, out, err);
  if (strchr(name, '/')) return plugins_load_file(from, name, out, err);
  char hint[128];
  suggest near = {.wanted = name};
  pd_status status = PD_INVALID;
  plugin_file *files[PD_KIND_COMMUNICATOR];
  uint32_t counts[PD_KIND_COMMUNICATOR];
  bool found = false;
  for (pd_kind at = PD_KIND_SCENARIO; at <= PD_KIND_COMMUNICATOR; at++) {
    counts[at - 1] = 0;
    if (plugins_scan(from, at, &files[at - 1], &counts[at - 1]) != PD_OK) continue;
    for (uint32_t i = 0; i < counts[at - 1] && !found; i++) {
      suggest_offer(&near, files[at - 1][i].name);
      if (strcmp(files[at - 1][i].name, name) != 0) continue;
      found = true;
      status = plugins_load(from, at, name, out, err);
    }
  }
  if (!found) {
    status = PD_INVALID;
    suggest_text(&near, hint, sizeof hint);
    (void)error_set(err, status, FAULT_NOT_FOUND, "plugin \"%s\": no scenario, sink or device of that name%s", name,
                    hint[0] ? hint : "; see pdhost --list");
  }
  for (pd_kind at = PD_KIND_SCENARIO; at <= PD_KIND_COMMUNICATOR; at++)
    plugins_scan_free(files[at - 1], counts[at - 1]);
  return status;
}

pd_status help_plugin(plugins *from, pd_kind kind, const char *topic, bool json, error *err) {
  char name[4096], section[64];
  snprintf(name, sizeof name, "%s", topic);
  /* NAME.KEY; of a path, what follows ".so." is the key. */
  const char *key = NULL;
  char *dot = strchr(name, '/') ? strstr(name, ".so.") : strchr(name, '.');
  if (dot && strchr(name, '/')) dot += 3;
  if (dot) {
    *dot = '\0';
    key = dot + 1;
  }
  const plugin *at = NULL;
  plugins_try_first(from);
  const pd_status status = load_any(from, kind, name, &at, err);
  if (status != PD_OK) return status;
  section_of(at->table, section, sizeof section);
  text_pool memory = {.blocks = NULL};
  config_section rows;
  if (section_open_plugin(&rows, &memory, section, at->table) != PD_OK) {
    text_pool_free(&memory);
    return error_no_memory(err);
  }
  pd_status done = PD_OK;
  if (key)
    done = print_key(section, rows.rows, rows.count, key, json, err);
  else if (json)
    done = print_json(json_of(at, section, rows.rows), 2, err);
  else
    print_text(at, section, rows.rows);
  text_pool_free(&memory);
  return done;
}
