/* The files that a user names, and those in the folders that a user names. [main thread] */
#ifndef CORE_RUN_IMPORT_PATHS_H
#define CORE_RUN_IMPORT_PATHS_H

#include "base/error.h"
#include "config/config.h"

typedef struct import_paths {
  char **files;    /* each malloc'ed */
  bool *in_folder; /* of each file: the user named its folder, and not the file */
  uint32_t count, room, room_in_folder;
} import_paths;

/* For a folder, takes the traces directly in it, by name: what ends in .json, .json.gz, .zip or .sqlite. PD_INVALID: a
 * folder has none, or cannot be read. To be freed in any case. */
pd_status import_paths_expand(import_paths *self, const char *const *words, uint32_t count, error *err);
/* Leaves out what lies in a folder and no reader takes for a trace: folders hold settings and results beside the
 * traces. Returns how many files that were. */
uint32_t import_paths_skip(import_paths *self, const config *settings);
void import_paths_free(import_paths *self);

#endif
