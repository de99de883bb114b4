/* See import_paths.h. */
#include "import_paths.h"

#include "import_reader.h"

#include <pdhost/array.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_trace(const char *name) {
  static const char *const endings[] = {".json", ".json.gz", ".zip", ".sqlite"};
  const size_t length = strlen(name);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    const size_t bytes = strlen(endings[i]);
    if (name[0] != '.' && length > bytes && strcmp(name + length - bytes, endings[i]) == 0) return true;
  }
  return false;
}

static bool is_folder(DIR *in, const char *name) {
  struct stat about;
  return fstatat(dirfd(in), name, &about, 0) == 0 && S_ISDIR(about.st_mode);
}

/* Takes `path`, which is malloc'ed. */
static bool add(import_paths *self, char *path, bool in_folder) {
  if (path && PD_ARRAY_FIT(self->files, self->room, self->count + 1) &&
      PD_ARRAY_FIT(self->in_folder, self->room_in_folder, self->count + 1)) {
    self->in_folder[self->count] = in_folder;
    self->files[self->count++] = path;
    return true;
  }
  free(path);
  return false;
}

/* rank2 comes before rank10. */
static int by_name(const void *a, const void *b) { return strverscmp(*(char *const *)a, *(char *const *)b); }

/* What to do about a folder without a trace. `inner`: the name of a folder in it; "": there is none. */
static pd_status say_no_trace(const char *path, bool is_empty, const char *inner, error *err) {
  if (is_empty)
    return error_set(err, PD_INVALID, FAULT_UNREADABLE, "%s: the folder is empty; give a trace, or a folder of traces",
                     path);
  if (*inner)
    return error_set(err, PD_INVALID, FAULT_UNREADABLE,
                     "%s: the folder holds no trace, and the folders in it are not searched; give one of them, such as "
                     "%s%s%s",
                     path, path, path[strlen(path) - 1] == '/' ? "" : "/", inner);
  return error_set(err, PD_INVALID, FAULT_UNREADABLE,
                   "%s: the folder holds no trace: no file in it ends in .json, .json.gz, .zip or .sqlite; give a file "
                   "by its name to see why it is none",
                   path);
}

static pd_status add_folder(import_paths *self, const char *path, error *err) {
  DIR *folder = opendir(path);
  const uint32_t first = self->count;
  bool good = true, is_empty = true;
  char inner[sizeof((struct dirent *)0)->d_name] = "";
  if (!folder) return error_set(err, PD_INVALID, FAULT_UNREADABLE, "%s: cannot be read: %s", path, strerror(errno));
  for (const struct dirent *entry; good && (entry = readdir(folder));) {
    char *file = NULL;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    is_empty = false;
    if (self->count == first && entry->d_name[0] != '.' && (!*inner || strverscmp(entry->d_name, inner) < 0) &&
        is_folder(folder, entry->d_name))
      (void)snprintf(inner, sizeof inner, "%s", entry->d_name);
    if (!is_trace(entry->d_name)) continue;
    good = asprintf(&file, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", entry->d_name) >= 0 &&
           add(self, file, true);
  }
  closedir(folder);
  if (!good) return error_no_memory(err);
  if (self->count == first) return say_no_trace(path, is_empty, inner, err);
  qsort(self->files + first, self->count - first, sizeof *self->files, by_name);
  return PD_OK;
}

pd_status import_paths_expand(import_paths *self, const char *const *words, uint32_t count, error *err) {
  pd_status status = PD_OK;
  *self = (import_paths){.files = NULL};
  for (uint32_t i = 0; i < count && status == PD_OK; i++) {
    struct stat about;
    if (stat(words[i], &about) == 0 && S_ISDIR(about.st_mode))
      status = add_folder(self, words[i], err);
    else if (!add(self, strdup(words[i]), false))
      status = error_no_memory(err);
  }
  return status;
}

uint32_t import_paths_skip(import_paths *self, const config *settings) {
  uint32_t kept = 0;
  const uint32_t count = self->count;
  for (uint32_t i = 0; i < count; i++) {
    if (self->in_folder[i] && !import_reader_may_take(settings, self->files[i])) {
      free(self->files[i]);
      continue;
    }
    self->in_folder[kept] = self->in_folder[i];
    self->files[kept++] = self->files[i];
  }
  self->count = kept;
  return count - kept;
}

void import_paths_free(import_paths *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->files[i]);
  free(self->files);
  free(self->in_folder);
}
