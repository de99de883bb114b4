/* See record_partial.h. */
#include "record_partial.h"

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sinks write to folders in run.trace_dir, and no deeper; it may be the user's own, with much more in it. */
enum { OUTPUT_DEPTH = 3 };

/* "steps.csv.4711-1.partial" of process 4711. */
static bool is_own(const char *name, pid_t pid) {
  char own[32];
  const char *ending = strrchr(name, '.');
  (void)snprintf(own, sizeof own, ".%d-", (int)pid);
  return ending && strcmp(ending, ".partial") == 0 && strstr(name, own);
}

/* And `depth` levels of folders in it. */
static void clean(const char *folder, int depth, pid_t pid) {
  char *roots[] = {strdup(folder), NULL};
  FTS *tree = roots[0] ? fts_open(roots, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
  for (FTSENT *at; tree && (at = fts_read(tree));) {
    if (at->fts_info == FTS_D && at->fts_level > depth) (void)fts_set(tree, at, FTS_SKIP);
    if (at->fts_info == FTS_F && is_own(at->fts_name, pid)) (void)unlink(at->fts_accpath);
  }
  if (tree) (void)fts_close(tree);
  free(roots[0]);
}

/* A sink's setting may be a file of its own, or a folder; what is neither has no such files in it. */
static void clean_around(const char *path, pid_t pid) {
  struct stat about;
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) clean(path, 1, pid);
  if (folder && stat(folder, &about) == 0 && S_ISDIR(about.st_mode)) clean(folder, 0, pid);
  free(folder);
}

void record_partial_remove(const config *settings, pid_t pid) {
  clean(settings->run.trace_dir, OUTPUT_DEPTH, pid);
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strncmp(at->section, "sink.", 5) == 0 && !at->is_default && at->value[0]) clean_around(at->value, pid);
  }
}
