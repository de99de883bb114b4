/* See work_folder.h. */
#include "work_folder.h"

#include "conform/check_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool work_folder_make(const char *command, char path[WORK_FOLDER_BYTES], error *err) {
  const char *place = getenv("TMPDIR");
  snprintf(path, WORK_FOLDER_BYTES, "%s/pdhost-%s.XXXXXX", place && place[0] == '/' ? place : "/tmp", command);
  if (mkdtemp(path)) return true;
  error_set(err, PD_IO, CODE_OUTPUT, "%s: %s: %s; set TMPDIR to a folder that can be written", command, path,
            strerror(errno));
  return false;
}

void work_folder_remove(const char *path) { check_folder_remove(path); }
