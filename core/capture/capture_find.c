/* See capture_find.h. */
#include "capture_find.h"

#include "capture_write.h"

#include <pdhost/array.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_unfinished(const char *name) {
  const size_t bytes = strlen(name), ending = sizeof CAPTURE_UNFINISHED - 1;
  return bytes > ending && strcmp(name + bytes - ending, CAPTURE_UNFINISHED) == 0;
}

/* Takes `path`. */
static void add(capture_leftovers *out, char *path, const struct stat *about) {
  const int fd = capture_lock(path); /* -1: its run goes on */
  if (fd >= 0) (void)close(fd);
  if (fd >= 0 && PD_ARRAY_FIT(out->rows, out->room, out->count + 1))
    out->rows[out->count++] = (capture_left){path, about->st_mtim};
  else
    free(path);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most `depth` deep */
static void look(const char *folder, int depth, capture_leftovers *out) {
  DIR *all = opendir(folder);
  for (const struct dirent *entry; all && (entry = readdir(all));) {
    const char *name = entry->d_name;
    const bool is_named = is_unfinished(name);
    struct stat about;
    char *path = NULL;
    if (name[0] == '.' || (!is_named && (!depth || entry->d_type == DT_REG))) continue;
    if (fstatat(dirfd(all), name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (asprintf(&path, "%s%s%s", folder, folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/", name) < 0)
      continue;
    if (S_ISREG(about.st_mode) && is_named) {
      add(out, path, &about);
      continue;
    }
    if (S_ISDIR(about.st_mode) && depth) look(path, depth - 1, out);
    free(path);
  }
  if (all) closedir(all);
}

static int newest_first(const void *a, const void *b) {
  const capture_left *left = a, *right = b;
  if (left->when.tv_sec != right->when.tv_sec) return left->when.tv_sec > right->when.tv_sec ? -1 : 1;
  if (left->when.tv_nsec != right->when.tv_nsec) return left->when.tv_nsec > right->when.tv_nsec ? -1 : 1;
  return strcmp(left->path, right->path);
}

void capture_find_left(const char *folder, int depth, capture_leftovers *out) {
  *out = (capture_leftovers){.rows = NULL};
  look(folder, depth, out);
  if (out->count) qsort(out->rows, out->count, sizeof *out->rows, newest_first);
}

void capture_leftovers_free(capture_leftovers *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->rows[i].path);
  free(self->rows);
  *self = (capture_leftovers){.rows = NULL};
}
