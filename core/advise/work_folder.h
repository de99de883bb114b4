/* A folder for the runs of one command, removed when the command ends. [main thread] */
#ifndef CORE_ADVISE_WORK_FOLDER_H
#define CORE_ADVISE_WORK_FOLDER_H

#include "base/error.h"

enum { WORK_FOLDER_BYTES = 512 };

/* Makes one in TMPDIR, or /tmp; `command` is in its name and before the message. False: see `err`. */
bool work_folder_make(const char *command, char path[WORK_FOLDER_BYTES], error *err);
void work_folder_remove(const char *path);

#endif
