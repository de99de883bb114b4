/* See own_files.h. */
#include "own_files.h"

#include <pdhost/array.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- their names ---- */

/* Before "kernels" of "events/kernels". */
static char *named(const char *prefix, const char *name, uint32_t window) {
  const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
  const int folders = (int)(last - name);
  char *made;
  const int bytes = window != PD_NONE ? asprintf(&made, "%.*s%s%s.%u.csv", folders, name, prefix, last, window)
                                      : asprintf(&made, "%.*s%s%s.csv", folders, name, prefix, last);
  return bytes < 0 ? NULL : made;
}

static char *path_in(const char *folder, const char *prefix, const char *name, uint32_t window) {
  char *in_folder = named(prefix, name, window), *path = NULL;
  if (in_folder && asprintf(&path, "%s/%s", folder, in_folder) < 0) path = NULL;
  free(in_folder);
  return path;
}

/* Where it lies once it has its name. */
static char *final_path(const own_files *self, const char *folder, const own_file *of) {
  return path_in(folder, self->prefix, of->name, of->window);
}

/* With the process and the time: two runs in one folder do not meet before they have ended. */
static char *staged_path(const own_files *self, const char *final) {
  char *path;
  if (!final || asprintf(&path, "%s.%ld-%lld.partial", final, (long)getpid(), (long long)self->run) < 0) return NULL;
  return path;
}

char *own_files_path(const own_files *self, const char *folder, const char *name, uint32_t window) {
  char *final = path_in(folder, "", name, window), *staged = staged_path(self, final);
  free(final);
  return staged;
}

char *own_files_name(const own_files *self, uint32_t index) {
  return named(self->prefix, self->all[index].name, self->all[index].window);
}

/* ---- while the run lasts ---- */

pd_status own_files_add(own_files *self, const char *name, uint32_t window) {
  if (!PD_ARRAY_FIT(self->all, self->room, self->count + 1)) return PD_NO_MEMORY;
  own_file *own = &self->all[self->count];
  *own = (own_file){.name = strdup(name), .window = window};
  if (!own->name) return PD_NO_MEMORY;
  self->count++;
  return PD_OK;
}

void own_files_written(own_files *self, const char *folder) {
  own_file *own = &self->all[self->count - 1];
  char *final = final_path(self, folder, own), *staged = staged_path(self, final);
  struct stat info;
  if (staged && stat(staged, &info) == 0) {
    own->written = self->on_disk = true;
    own->bytes = (uint64_t)info.st_size;
  }
  free(staged);
  free(final);
}

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
  for (uint32_t i = 0; status == PD_OK && i < self->count; i++) {
    char *final = final_path(self, folder, &self->all[i]), *staged = staged_path(self, final);
    status = staged ? call(self, host, final, staged)
                    : host->fail(host, PD_NO_MEMORY, "its files cannot be renamed: out of memory");
    free(staged);
    free(final);
  }
  return status;
}

pd_status own_files_publish(const own_files *self, const pd_host *host, const char *folder) {
  const pd_status status = with_each(self, host, folder, look_for);
  return status == PD_OK ? with_each(self, host, folder, publish_one) : status;
}

static uint64_t count_csv(const own_files *self, const char *folder, const char *below) {
  static const char ending[] = ".csv";
  uint64_t count = 0;
  char *path;
  if (asprintf(&path, "%s%s", folder, below) < 0) return 0;
  DIR *open_folder = opendir(path);
  free(path);
  for (const struct dirent *entry; open_folder && (entry = readdir(open_folder));) {
    const size_t length = strlen(entry->d_name), tail = sizeof ending - 1;
    count += strncmp(entry->d_name, self->prefix, strlen(self->prefix)) == 0 && length > tail &&
             strcmp(entry->d_name + length - tail, ending) == 0;
  }
  if (open_folder) closedir(open_folder);
  return count;
}

uint64_t own_files_others(const own_files *self, const char *folder) {
  const uint64_t found = self->on_disk ? count_csv(self, folder, "") + count_csv(self, folder, "/events") : 0;
  return found > self->count ? found - self->count : 0;
}

void own_files_discard(const own_files *self, const char *folder) {
  for (uint32_t i = 0; i < self->count; i++) {
    if (!self->all[i].written) continue;
    char *final = final_path(self, folder, &self->all[i]), *staged = staged_path(self, final);
    if (staged) unlink(staged);
    free(staged);
    free(final);
  }
}

void own_files_free(own_files *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->all[i].name);
  free(self->all);
  *self = (own_files){0};
}
