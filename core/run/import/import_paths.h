/* The files that a user names, and those in the folders that a user names. [main thread] */
#ifndef CORE_RUN_IMPORT_PATHS_H
#define CORE_RUN_IMPORT_PATHS_H

#include "base/error.h"

typedef struct import_paths {
  char **files;    /* each malloc'ed */
  bool *in_folder; /* of each file: the user named its folder, and not the file */
  uint32_t count, room, room_in_folder;
} import_paths;

/* Of a folder, the traces that lie in it itself, by name: what ends in .json, .json.gz, .zip or .sqlite. PD_INVALID: a
 * folder has none, or cannot be read. To be freed in any case. */
pd_status import_paths_expand(import_paths *self, const char *const *words, uint32_t count, error *err);
void import_paths_free(import_paths *self);

#endif
