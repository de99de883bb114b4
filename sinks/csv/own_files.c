/* See own_files.h. */
#include "own_files.h"

#include "event_files.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static own_file *find(const own_files *self, const char *name) {
  for (uint32_t i = 0; i < self->count; i++)
    if (!strcmp(self->all[i].name, name)) return &self->all[i];
  return NULL;
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
    const own_file *own = find(self, full);
    if (own && (window == PD_NONE ? own->of_run : window < own->window_end)) continue;
    if (snprintf(path, sizeof path, "%s/%s%s", folder, below, entry->d_name) >= (int)sizeof path) continue;
    if (is_event_file(full) || has_own_header(path)) unlink(path);
  }
  closedir(open_folder);
}

void own_files_remove_others(const own_files *self, const char *folder) {
  remove_in(self, folder, "");
  remove_in(self, folder, "events/");
}

/* Windows that have no such file: an earlier run's may lie there. */
static void remove_skipped(const char *folder, const own_file *own, uint32_t window) {
  for (uint32_t w = own->window_end; w < window; w++) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s.%u.csv", folder, own->name, w) >= (int)sizeof path) return;
    if (is_event_file(own->name) || has_own_header(path)) unlink(path);
  }
}

pd_status own_files_add(own_files *self, const char *folder, const char *name, uint32_t window) {
  own_file *own = find(self, name);
  if (!own) {
    if (self->count == self->room) {
      const uint32_t room = self->room ? 2 * self->room : 32;
      own_file *grown = realloc(self->all, room * sizeof *grown);
      if (!grown) return PD_NO_MEMORY;
      self->all = grown;
      self->room = room;
    }
    own = &self->all[self->count];
    *own = (own_file){.name = strdup(name)};
    if (!own->name) return PD_NO_MEMORY;
    self->count++;
  }
  if (window == PD_NONE) {
    own->of_run = true;
  } else {
    remove_skipped(folder, own, window);
    own->window_end = window + 1;
  }
  return PD_OK;
}

void own_files_free(own_files *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->all[i].name);
  free(self->all);
  *self = (own_files){0};
}
