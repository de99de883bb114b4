/* See own_files.h. */
#include "own_files.h"

#include "event_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static own_file *find(const own_files *self, const char *name) {
  for (uint32_t i = 0; i < self->count; i++)
    if (!strcmp(self->all[i].name, name)) return &self->all[i];
  return NULL;
}

static bool was_written(const own_file *own, uint32_t window) {
  for (uint32_t i = 0; own && i < own->count; i++)
    if (own->windows[i] == window) return true;
  return false;
}

static bool is_event_file(const char *name) {
  for (const event_file *kind = event_files; kind->name; kind++)
    if (!strcmp(kind->name, name)) return true;
  return false;
}

/* By the first line, which ends as those of the sink's tables do, or is that of its other files. */
static bool has_own_header(const char *path) {
  static const char table[] = ",level,row_kind\r\n";
  char line[4096];
  FILE *file = fopen(path, "rbe");
  if (!file) return false;
  const bool read = fgets(line, sizeof line, file);
  fclose(file);
  const size_t length = read ? strlen(line) : 0, ending = sizeof table - 1;
  return (length > ending && !strcmp(line + length - ending, table)) ||
         (length && !strcmp(line, CSV_PARTIAL_HEADER "\r\n"));
}

/* Splits "operators.3.csv" into "operators" and 3; without a number *window is PD_NONE. False: no name of the sink's.
 */
static bool split(const char *file, char *name, size_t room, uint32_t *window) {
  const size_t length = strlen(file);
  if (length <= 4 || length >= room || strcmp(file + length - 4, ".csv") != 0) return false;
  memcpy(name, file, length - 4);
  name[length - 4] = '\0';
  *window = PD_NONE;
  char *dot = strrchr(name, '.'), *end;
  if (!dot) return true;
  if (!isdigit((unsigned char)dot[1]) || (dot[1] == '0' && dot[2]) || strlen(dot) > 10) return false;
  *window = (uint32_t)strtoul(dot + 1, &end, 10);
  if (*end) return false;
  *dot = '\0';
  return true;
}

static void remove_in(const own_files *self, const char *folder, const char *below) {
  char path[4096], name[300], full[320];
  uint32_t window;
  if (snprintf(path, sizeof path, "%s/%s", folder, below) >= (int)sizeof path) return;
  DIR *open_folder = opendir(path);
  if (!open_folder) return;
  for (const struct dirent *entry; (entry = readdir(open_folder));) {
    if (!split(entry->d_name, name, sizeof name, &window)) continue;
    snprintf(full, sizeof full, "%s%s", below, name);
    if (was_written(find(self, full), window)) continue;
    if (snprintf(path, sizeof path, "%s/%s%s", folder, below, entry->d_name) >= (int)sizeof path) continue;
    if (is_event_file(full) || has_own_header(path)) unlink(path);
  }
  closedir(open_folder);
}

/* ---- their names ---- */

static char *final_path(const char *folder, const char *name, uint32_t window) {
  char *path;
  const int made = window != PD_NONE ? asprintf(&path, "%s/%s.%u.csv", folder, name, window)
                                     : asprintf(&path, "%s/%s.csv", folder, name);
  return made < 0 ? NULL : path;
}

/* With the process and the time: two runs in one folder do not meet before they have ended. */
static char *staged_path(const own_files *self, const char *final) {
  char *path;
  if (!final || asprintf(&path, "%s.%ld-%lld.partial", final, (long)getpid(), (long long)self->run) < 0) return NULL;
  return path;
}

char *own_files_path(const own_files *self, const char *folder, const char *name, uint32_t window) {
  char *final = final_path(folder, name, window), *staged = staged_path(self, final);
  free(final);
  return staged;
}

static own_file *find_or_make(own_files *self, const char *name) {
  own_file *own = find(self, name);
  if (own) return own;
  if (self->count == self->room) {
    const uint32_t room = self->room ? 2 * self->room : 32;
    own_file *grown = realloc(self->all, room * sizeof *grown);
    if (!grown) return NULL;
    self->all = grown;
    self->room = room;
  }
  own = &self->all[self->count];
  *own = (own_file){.name = strdup(name)};
  if (!own->name) return NULL;
  self->count++;
  return own;
}

pd_status own_files_add(own_files *self, const char *name, uint32_t window) {
  own_file *own = find_or_make(self, name);
  if (!own) return PD_NO_MEMORY;
  if (own->count == own->room) {
    const uint32_t room = own->room ? 2 * own->room : 1;
    uint32_t *grown = realloc(own->windows, room * sizeof *grown);
    if (!grown) return PD_NO_MEMORY;
    own->windows = grown;
    own->room = room;
  }
  own->windows[own->count++] = window;
  return PD_OK;
}

void own_files_written(own_files *self, const char *path) { self->on_disk = self->on_disk || access(path, F_OK) == 0; }

/* ---- the end ---- */

typedef pd_status for_file(const own_files *self, const pd_host *host, const char *final, const char *staged);

static pd_status look_for(const own_files *self, const pd_host *host, const char *final, const char *staged) {
  (void) final;
  if (!self->on_disk || access(staged, F_OK) == 0) return PD_OK;
  return host->fail(host, PD_IO, "%s: %s since it was written; none of this run's files gets its name", staged,
                    errno == ENOENT ? "was removed" : strerror(errno));
}

static pd_status publish_one(const own_files *self, const pd_host *host, const char *final, const char *staged) {
  const pd_files *files = host->extension(host, PD_EXT_FILES);
  if (rename(staged, final) != 0 && (self->on_disk || errno != ENOENT))
    return host->fail(host, PD_IO, "%s: cannot be renamed from %s: %s; files of two runs may be in that folder", final,
                      staged, strerror(errno));
  files->announce(files, final);
  return PD_OK;
}

static pd_status with_each(const own_files *self, const pd_host *host, const char *folder, for_file *call) {
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < self->count; i++)
    for (uint32_t w = 0; status == PD_OK && w < self->all[i].count; w++) {
      char *final = final_path(folder, self->all[i].name, self->all[i].windows[w]), *staged = staged_path(self, final);
      status = staged ? call(self, host, final, staged)
                      : host->fail(host, PD_NO_MEMORY, "its files cannot be renamed: out of memory");
      free(staged);
      free(final);
    }
  return status;
}

pd_status own_files_publish(const own_files *self, const pd_host *host, const char *folder) {
  pd_status status = with_each(self, host, folder, look_for);
  if (status == PD_OK) status = with_each(self, host, folder, publish_one);
  if (status != PD_OK) return status;
  remove_in(self, folder, "");
  remove_in(self, folder, "events/");
  return PD_OK;
}

void own_files_discard(const own_files *self, const char *folder) {
  for (uint32_t i = 0; i < self->count; i++)
    for (uint32_t w = 0; w < self->all[i].count; w++) {
      char *staged = own_files_path(self, folder, self->all[i].name, self->all[i].windows[w]);
      if (staged) unlink(staged);
      free(staged);
    }
}

void own_files_free(own_files *self) {
  for (uint32_t i = 0; i < self->count; i++) {
    free(self->all[i].name);
    free(self->all[i].windows);
  }
  free(self->all);
  *self = (own_files){0};
}
