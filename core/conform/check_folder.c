/* See check_folder.h. */
#include "check_folder.h"

#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FTS *walk(const char *path) {
  char copy[PATH_MAX];
  snprintf(copy, sizeof copy, "%s", path);
  return fts_open((char *[]){copy, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL); /* it copies the path */
}

void check_folder_remove(const char *path) {
  FTS *tree = walk(path);
  for (const FTSENT *at; tree && (at = fts_read(tree));) {
    if (at->fts_info == FTS_DP || at->fts_info == FTS_DNR)
      rmdir(at->fts_accpath);
    else if (at->fts_info != FTS_D)
      unlink(at->fts_accpath);
  }
  if (tree) fts_close(tree);
}

bool check_folder_empty(const char *path) {
  check_folder_remove(path);
  return mkdir(path, 0700) == 0 && chdir(path) == 0;
}

uint64_t check_folder_bytes(const char *path) {
  uint64_t bytes = 0;
  FTS *tree = walk(path);
  for (const FTSENT *at; tree && (at = fts_read(tree));)
    if (at->fts_info == FTS_F) bytes += (uint64_t)at->fts_statp->st_size;
  if (tree) fts_close(tree);
  return bytes;
}

bool check_folder_partial(const char *path, char *found, size_t room) {
  static const char ending[] = ".partial";
  bool any = false;
  FTS *tree = walk(path);
  for (const FTSENT *at; !any && tree && (at = fts_read(tree));) {
    const size_t length = at->fts_namelen, tail = sizeof ending - 1;
    any = at->fts_info == FTS_F && length > tail && strcmp(at->fts_name + length - tail, ending) == 0;
    if (any) snprintf(found, room, "%s", at->fts_path + strlen(path) + 1);
  }
  if (tree) fts_close(tree);
  return any;
}
