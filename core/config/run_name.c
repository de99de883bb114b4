/* See run_name.h. */
#include "run_name.h"

#include "abi/plugins.h"
#include "base/self_path.h"
#include "base/suggest.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACES = 4 };

static const args_command *const *commands;
static uint32_t command_count;

void run_name_set_commands(const args_command *const *all, uint32_t count) {
  commands = all;
  command_count = count;
}

/* ---- configurations ---- */

/* The folder of configurations number `index`; false: there is none. */
static bool place(uint32_t index, char *folder, size_t room) {
  /* A program that lies in bin/ of a build folder, itself in the source tree or two levels below it. */
  static const char *const below[PLACES] = {NULL, "share/pdhost/conf", "../conf", "../../conf"};
  char prefix[PATH_MAX], joined[PATH_MAX + 32], header[PATH_MAX + 64], real[PATH_MAX];
  if (index == 0) return snprintf(folder, room, "conf") > 0;
  if (index >= PLACES || !self_path_prefix(prefix, sizeof prefix)) return false;
  snprintf(joined, sizeof joined, "%s/%s", prefix, below[index]);
  if (!realpath(joined, real)) return false;
  snprintf(folder, room, "%s", real);
  snprintf(header, sizeof header, "%s/../core/include/pdhost/plugin.h", real);
  return index == 1 || access(header, R_OK) == 0;
}

static bool ends_with_ini(const char *name) {
  const size_t bytes = strlen(name);
  return bytes > 4 && strcmp(name + bytes - 4, ".ini") == 0;
}

static bool is_name(const char *word) { return word[0] && !strchr(word, '/') && !ends_with_ini(word); }

const char *run_name_file(const char *name, text_pool *memory) {
  char folder[PATH_MAX + 32], path[PATH_MAX + 300];
  if (!is_name(name) || strlen(name) > 200 || access(name, F_OK) == 0) return NULL;
  for (uint32_t i = 0; i < PLACES; i++) {
    if (!place(i, folder, sizeof folder)) continue;
    snprintf(path, sizeof path, "%s/%s.ini", folder, name);
    if (access(path, F_OK) == 0) return text_pool_text(memory, path);
  }
  return NULL;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char *const *run_name_configs(text_pool *memory, uint32_t *count) {
  enum { MOST = 256 };
  char folder[PATH_MAX + 32];
  const char **names = text_pool_alloc(memory, MOST * sizeof *names);
  *count = 0;
  for (uint32_t i = 0; names && i < PLACES; i++) {
    DIR *in = place(i, folder, sizeof folder) ? opendir(folder) : NULL;
    for (struct dirent *at; in && (at = readdir(in));) {
      if (!ends_with_ini(at->d_name) || *count == MOST) continue;
      char name[NAME_MAX + 1];
      snprintf(name, sizeof name, "%.*s", (int)(strlen(at->d_name) - 4), at->d_name);
      bool is_known = false;
      for (uint32_t other = 0; other < *count; other++) is_known = is_known || strcmp(names[other], name) == 0;
      const char *kept = is_known ? NULL : text_pool_text(memory, name);
      if (kept) names[(*count)++] = kept;
    }
    if (in) closedir(in);
  }
  if (*count) qsort(names, *count, sizeof *names, by_name);
  return names;
}

/* The nearest file of the folder that `path` names. */
static const char *near_in_folder(const char *path, size_t folder_bytes, text_pool *memory) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%.*s", folder_bytes ? (int)folder_bytes : 1, folder_bytes ? path : ".");
  suggest near = {.wanted = path + folder_bytes};
  DIR *in = opendir(folder);
  for (struct dirent *at; in && (at = readdir(in));) {
    const char *kept = at->d_name[0] == '.' ? NULL : text_pool_text(memory, at->d_name);
    if (kept) suggest_offer(&near, kept);
  }
  if (in) closedir(in);
  return suggest_best(&near);
}

const char *run_name_near_file(const char *path, char *text, size_t room) {
  const char *slash = strrchr(path, '/');
  const size_t folder_bytes = slash ? (size_t)(slash + 1 - path) : 0;
  text_pool memory = {.blocks = NULL};
  const char *found = near_in_folder(path, folder_bytes, &memory);
  text[0] = '\0';
  if (found) {
    snprintf(text, room, "; did you mean %.*s%s?", (int)folder_bytes, path, found);
  } else if (!slash) { /* the name of a configuration, misspelt */
    char wanted[NAME_MAX + 1];
    snprintf(wanted, sizeof wanted, "%.*s", (int)(strlen(path) - (ends_with_ini(path) ? 4 : 0)), path);
    suggest near = {.wanted = wanted};
    uint32_t count;
    const char *const *all = run_name_configs(&memory, &count);
    for (uint32_t i = 0; all && i < count; i++) suggest_offer(&near, all[i]);
    suggest_text(&near, text, room);
  }
  text_pool_free(&memory);
  return text;
}

/* ---- words ---- */

typedef struct names {
  text_pool *memory;
  plugin_file *scenarios;
  uint32_t scenario_count;
  plugins *from;
} names;

static void names_open(names *self, const char *plugin_path) {
  self->from = plugins_open(plugin_path);
  if (!self->from || plugins_scan(self->from, PD_KIND_SCENARIO, &self->scenarios, &self->scenario_count) != PD_OK)
    self->scenario_count = 0;
}

static void names_close(names *self) {
  if (self->scenarios) plugins_scan_free(self->scenarios, self->scenario_count);
  plugins_close(self->from);
}

static void unexpected(const names *self, const char *word, error *err) {
  char hint[256];
  suggest near = {.wanted = word};
  uint32_t count = 0;
  text_pool memory = {.blocks = NULL};
  const char *const *configs = run_name_configs(&memory, &count);
  for (uint32_t i = 0; i < command_count; i++) suggest_offer(&near, commands[i]->name);
  for (uint32_t i = 0; i < self->scenario_count; i++) suggest_offer(&near, self->scenarios[i].name);
  for (uint32_t i = 0; configs && i < count; i++) suggest_offer(&near, configs[i]);
  if (strchr(word, '/'))
    run_name_near_file(word, hint, sizeof hint);
  else if (!word[0])
    snprintf(hint, sizeof hint, "; an empty word names nothing");
  else if (!suggest_text(&near, hint, sizeof hint)[0])
    snprintf(hint, sizeof hint,
             "; it is not a command, configuration or scenario: see pdhost --help and pdhost --list");
  error_add(err, PD_INVALID, FAULT_WORD, "unexpected argument '%s'%s", word, hint);
  text_pool_free(&memory);
}

bool run_name_is_command(const char *word) {
  for (uint32_t i = 0; i < command_count; i++)
    if (strcmp(commands[i]->name, word) == 0) return true;
  return false;
}

/* A command or a file in the wrong place. */
static bool misplaced(const char *word, error *err) {
  const bool is_file = ends_with_ini(word), is_command = !is_file && run_name_is_command(word);
  if (is_file) error_add(err, PD_INVALID, FAULT_WORD, "unexpected argument '%s'; write -c %s", word, word);
  if (is_command)
    error_add(err, PD_INVALID, FAULT_WORD, "unexpected argument '%s'; a command comes first: pdhost %s", word, word);
  return is_file || is_command;
}

void run_name_unexpected(const char *word, const char *plugin_path, error *err) {
  if (misplaced(word, err)) return;
  names all = {.from = NULL};
  names_open(&all, plugin_path);
  unexpected(&all, word, err);
  names_close(&all);
}

pd_status run_name_find(const char *word, const char *plugin_path, text_pool *memory, run_name *out, error *err) {
  *out = (run_name){.path = ends_with_ini(word) ? word : run_name_file(word, memory)};
  if (out->path) return PD_OK;
  const size_t bytes = strlen(word);
  const bool is_path = strchr(word, '/') && bytes > 3 && strcmp(word + bytes - 3, ".so") == 0;
  names all = {.from = NULL};
  names_open(&all, plugin_path);
  for (uint32_t i = 0; i < all.scenario_count && !out->scenario; i++)
    if (strcmp(all.scenarios[i].name, word) == 0) out->scenario = word;
  if (is_path) out->scenario = word;
  if (!out->scenario && !misplaced(word, err)) unexpected(&all, word, err);
  names_close(&all);
  return out->scenario ? PD_OK : PD_INVALID;
}
