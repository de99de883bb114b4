/* Plugin loading; see plugins.h. The checks of a descriptor are in plugin_table.c. */
#include "plugins.h"

#include "base/child.h"
#include "base/log.h"
#include "base/self_path.h"
#include "base/suggest.h"

#include <pdhost/array.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS = 64, TRY_SECONDS = 20 };

typedef struct loaded {
  plugin public;
  struct loaded *next;
  char *path;
} loaded;

struct plugins {
  char *folders[FOLDERS];
  uint32_t folder_count, own_folders; /* the last ones are the program's own */
  loaded *first;
  bool tries_first;
};

static pd_status no_memory(error *err) {
  (void)error_no_memory(err);
  return PD_NO_MEMORY;
}

/* ---- folders ---- */

/* False on no memory. Folders beyond the table's room are not searched; 64 are more than anybody uses. */
static bool add_folder(plugins *self, const char *text, size_t bytes) {
  if (bytes == 0 || self->folder_count == FOLDERS) return true;
  char *folder = strndup(text, bytes);
  if (!folder) return false;
  self->folders[self->folder_count++] = folder;
  return true;
}

static bool add_folders(plugins *self, const char *list) {
  while (list && *list) {
    const size_t bytes = strcspn(list, ":");
    if (!add_folder(self, list, bytes)) return false;
    list += bytes + (list[bytes] == ':');
  }
  return true;
}

/* Beside the executable, so that a build tree, a staged or a moved installation finds its own plugins. */
static bool add_own_folder(plugins *self) {
  char path[PATH_MAX];
  if (!self_path_prefix(path, sizeof path)) return true;
  /* lib/<triplet> is where a distribution's installation puts them. */
  static const char *const below[] = {"/lib/pdhost", "/" PDHOST_LIBDIR "/pdhost"};
  for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
    char folder[PATH_MAX + 64];
    const int used = snprintf(folder, sizeof folder, "%s%s", path, below[i]);
    if (used < 0 || (i > 0 && strcmp(below[i], below[0]) == 0)) continue;
    if (!add_folder(self, folder, (size_t)used)) return false;
    self->own_folders++;
  }
  return true;
}

/* Whether the file came with the program. */
static bool is_own(const plugins *self, const char *path) {
  for (uint32_t i = self->folder_count - self->own_folders; i < self->folder_count; i++) {
    const size_t bytes = strlen(self->folders[i]);
    if (strncmp(path, self->folders[i], bytes) == 0 && path[bytes] == '/') return true;
  }
  return false;
}

plugins *plugins_open(const char *first) {
  plugins *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  if (add_folders(self, first) && add_folders(self, getenv("PDHOST_PLUGIN_PATH")) && add_own_folder(self)) return self;
  plugins_close(self);
  return NULL;
}

void plugins_close(plugins *self) {
  if (!self) return;
  while (self->first) {
    loaded *next = self->first->next;
    free(self->first->path);
    free(self->first);
    self->first = next;
  }
  for (uint32_t i = 0; i < self->folder_count; i++) free(self->folders[i]);
  free(self);
}

void plugins_try_first(plugins *self) { self->tries_first = true; }

uint32_t plugins_folder_count(const plugins *self) { return self->folder_count; }
const char *plugins_folder(const plugins *self, uint32_t index) { return self->folders[index]; }

void plugins_warn_of_missing(const char *folders, const char *origin) {
  while (folders && *folders) {
    const size_t bytes = strcspn(folders, ":");
    char folder[PATH_MAX];
    struct stat about;
    snprintf(folder, sizeof folder, "%.*s", (int)bytes, folders);
    const bool there = bytes == 0 || stat(folder, &about) == 0;
    if (!there || (bytes > 0 && !S_ISDIR(about.st_mode)))
      log_line(PD_LOG_WARN, NULL, "%s: [run] plugin_path: %s: %s; no plugin is looked for there", origin, folder,
               there ? "is not a folder" : strerror(errno));
    folders += bytes + (folders[bytes] == ':');
  }
}

/* ---- scanning ---- */

static int by_name(const void *a, const void *b) {
  return strcmp(((const plugin_file *)a)->name, ((const plugin_file *)b)->name);
}

void plugins_scan_free(plugin_file *files, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    free(files[i].name);
    free(files[i].path);
  }
  free(files);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): PD_ARRAY_FIT writes to `room` */
static bool add_file(plugin_file **files, uint32_t *count, uint32_t *room, const char *folder, const char *file,
                     pd_kind kind) {
  if (!PD_ARRAY_FIT(*files, *room, *count + 1)) return false;
  plugin_file *row = &(*files)[*count];
  *row = (plugin_file){.kind = kind, .name = strndup(file, strlen(file) - 3)};
  if (asprintf(&row->path, "%s/%s", folder, file) < 0) row->path = NULL;
  (*count)++;
  return row->name && row->path;
}

pd_status plugins_scan(const plugins *self, pd_kind kind, plugin_file **files, uint32_t *count) {
  uint32_t room = 0;
  *files = NULL;
  *count = 0;
  for (uint32_t i = 0; i < self->folder_count; i++) {
    char folder[PATH_MAX + 64];
    snprintf(folder, sizeof folder, "%s/%s", self->folders[i], plugin_kind_name(kind));
    DIR *dir = opendir(folder);
    if (!dir) continue; /* most folders of the search path do not exist */
    const uint32_t begin = *count;
    bool good = true;
    for (const struct dirent *entry; good && (entry = readdir(dir));) {
      const size_t bytes = strlen(entry->d_name);
      if (bytes > 3 && strcmp(entry->d_name + bytes - 3, ".so") == 0)
        good = add_file(files, count, &room, folder, entry->d_name, kind);
    }
    closedir(dir);
    if (!good) {
      plugins_scan_free(*files, *count);
      *files = NULL;
      *count = 0;
      return PD_NO_MEMORY;
    }
    if (*files) qsort(*files + begin, *count - begin, sizeof **files, by_name);
  }
  for (uint32_t i = 0; i < *count; i++)
    for (uint32_t j = 0; j < i && !(*files)[i].shadowed_by; j++)
      if (strcmp((*files)[j].name, (*files)[i].name) == 0) (*files)[i].shadowed_by = (*files)[j].path;
  return PD_OK;
}

/* ---- loading ---- */

static bool is_among(const char *name, const char *const *names, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static const char nowhere[] = "no folder was searched, as where pdhost itself lies is not known; name a folder by "
                              "--plugin-path or PDHOST_PLUGIN_PATH, or mount /proc";

/* Nothing of that name lies in the folders: says what does, and where it was looked for. */
static pd_status not_found(const plugins *self, pd_kind kind, const char *name, error *err) {
  char near_text[480], names[400], places[640];
  plugin_file *files;
  uint32_t count, used = 0;
  if (plugins_scan(self, kind, &files, &count) != PD_OK) return no_memory(err);
  /* Nobody who asks for a GPU means the device whose name is one letter away. */
  const bool gpu = kind == PD_KIND_DEVICE && strcasecmp(name, "gpu") == 0;
  suggest near = {.wanted = gpu ? "cuda" : name};
  /* These are names of devices whether or not this build or machine has them. */
  static const char *const devices[] = {"auto", "cuda", "cpu"};
  const uint32_t known = kind == PD_KIND_DEVICE ? sizeof devices / sizeof devices[0] : 0;
  const bool is_known = is_among(name, devices, known);
  size_t listed = 0;
  for (uint32_t i = 0; i < known + count && !is_known; i++) {
    const plugin_file *file = i < known ? NULL : &files[i - known];
    const char *one = file ? file->name : devices[i];
    suggest_offer(&near, one);
    if (file && (file->shadowed_by || is_among(one, devices, known))) continue;
    if (listed + strlen(one) + 3 > sizeof names) continue;
    listed += (size_t)snprintf(names + listed, sizeof names - listed, "%s%s", listed ? ", " : "", one);
  }
  suggest_text(&near, near_text, sizeof near_text);
  if (!near_text[0] && listed) snprintf(near_text, sizeof near_text, "; there are %s;", names);
  places[0] = '\0';
  for (uint32_t i = 0; i < self->folder_count && used < sizeof places; i++) {
    const int wrote = snprintf(places + used, sizeof places - used, "%s%s/%s", i ? ", " : "", self->folders[i],
                               plugin_kind_name(kind));
    if (wrote > 0) used += (uint32_t)wrote;
  }
  error_set(err, PD_INVALID, FAULT_NOT_FOUND, "%s \"%s\": not found%s%s %s%s", plugin_kind_name(kind), name, near_text,
            near_text[0] ? "" : ";", self->folder_count ? "looked in: " : nowhere, places);
  plugins_scan_free(files, count);
  return PD_INVALID;
}

static pd_status open_library(const char *path, void **handle, error *err) {
  struct stat about;
  if (stat(path, &about) != 0)
    return error_set(err, PD_INVALID, FAULT_LOADING, "%s: cannot be opened: %s", path, strerror(errno));
  if (!S_ISREG(about.st_mode)) return error_set(err, PD_INVALID, FAULT_LOADING, "%s: is not a regular file", path);
  *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*handle) return PD_OK;
  const char *why = dlerror();
  if (!why) why = "dlopen failed";
  const size_t bytes = strlen(path);
  if (strncmp(why, path, bytes) == 0 && why[bytes] == ':') why += bytes + 1 + (why[bytes + 1] == ' ');
  return error_set(err, PD_INVALID, FAULT_LOADING, "%s: cannot be loaded: %s%s", path, why,
                   strstr(why, "cannot open shared object file")
                       ? "; install the package that has it, or put its folder into LD_LIBRARY_PATH"
                       : "");
}

static pd_status open_table(void *handle, const char *path, const pd_plugin **table, error *err) {
  dlerror();
  void *symbol = dlsym(handle, "pd_plugin_entry");
  if (!symbol) {
    (void)error_set(err, PD_INVALID, FAULT_LOADING,
                    "%s: has no pd_plugin_entry, so it is not a pdhost plugin; end it with PD_SCENARIO, PD_SINK, "
                    "PD_DEVICE or PD_READER",
                    path);
    return PD_INVALID;
  }
  const pd_plugin *(*entry)(void);
  memcpy(&entry, &symbol, sizeof entry); /* C has no cast from an object to a function pointer */
  *table = entry();
  if (*table) return PD_OK;
  (void)error_set(err, PD_INVALID, FAULT_LOADING, "%s: pd_plugin_entry returned NULL", path);
  return PD_INVALID;
}

/* `path` as dlopen wants it: a bare file name would be searched in the system's folders. */
static char *path_with_slash(const char *path) {
  char *out = NULL;
  if (strchr(path, '/')) return strdup(path);
  return asprintf(&out, "./%s", path) < 0 ? NULL : out;
}

/* In the child. What it says of a plugin that is only rejected, the parent finds too. */
static int try_body(void *user, int report) {
  const char *path = user;
  void *handle = NULL;
  const pd_plugin *table = NULL;
  static error ignored; /* large */
  (void)report;
  error_clear(&ignored);
  if (open_library(path, &handle, &ignored) == PD_OK && open_table(handle, path, &table, &ignored) == PD_OK)
    (void)plugin_check_table(table, 0, path, &ignored);
  return 0;
}

static pd_status try_in_child(char *path, error *err) {
  child_result tried;
  if (!child_call(try_body, path, TRY_SECONDS, &tried) || tried.interrupted || tried.exit_code == 0) return PD_OK;
  if (tried.timed_out)
    return error_set(err, PD_INVALID, FAULT_LOADING, "%s: is still loading after %d s: build it again", path,
                     TRY_SECONDS);
  if (tried.signal)
    return error_set(err, PD_INVALID, FAULT_LOADING,
                     "%s: crashes when it is loaded (signal %d): build or copy it again", path, tried.signal);
  return error_set(err, PD_INVALID, FAULT_LOADING,
                   "%s: ends the process when it is loaded (exit code %d): build it without a call of exit", path,
                   tried.exit_code);
}

static pd_status load_path(plugins *self, pd_kind kind, const char *path, const plugin **out, error *err) {
  for (const loaded *row = self->first; row; row = row->next)
    if (strcmp(row->path, path) == 0 && (kind == 0 || row->public.kind == kind)) {
      *out = &row->public;
      return PD_OK;
    }
  void *handle = NULL;
  loaded *row = calloc(1, sizeof *row);
  char *copy = path_with_slash(path);
  const pd_plugin *table = NULL;
  pd_status status = row && copy ? PD_OK : no_memory(err);
  if (status == PD_OK && (self->tries_first || !is_own(self, copy))) status = try_in_child(copy, err);
  if (status == PD_OK) status = open_library(copy, &handle, err);
  if (status == PD_OK) status = open_table(handle, copy, &table, err);
  if (status == PD_OK) status = plugin_check_table(table, kind, copy, err);
  if (status != PD_OK) {
    if (handle) dlclose(handle);
    free(copy);
    free(row);
    return status;
  }
  *row = (loaded){.public = {.table = table, .path = copy, .kind = table->kind, .option_count = table->option_count},
                  .next = self->first,
                  .path = copy};
  self->first = row;
  *out = &row->public;
  return PD_OK;
}

pd_status plugins_load_file(plugins *self, const char *path, const plugin **out, error *err) {
  *out = NULL;
  return load_path(self, 0, path, out, err);
}

pd_status plugins_load(plugins *self, pd_kind kind, const char *name, const plugin **out, error *err) {
  *out = NULL;
  if (strchr(name, '/')) return load_path(self, kind, name, out, err);
  for (uint32_t i = 0; i < self->folder_count; i++) {
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s.so", self->folders[i], plugin_kind_name(kind), name);
    if (access(path, F_OK) == 0) return load_path(self, kind, path, out, err);
  }
  const size_t bytes = strlen(name);
  if (bytes > 3 && strcmp(name + bytes - 3, ".so") == 0 && access(name, F_OK) == 0)
    return error_set(err, PD_INVALID, FAULT_NOT_FOUND, "%s \"%s\": is not a plugin name; use ./%s to load the file",
                     plugin_kind_name(kind), name, name);
  return not_found(self, kind, name, err);
}
