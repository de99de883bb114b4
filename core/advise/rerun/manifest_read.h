/* A manifest as it lies on disk, checked. [any thread] */
#ifndef CORE_ADVISE_RERUN_MANIFEST_READ_H
#define CORE_ADVISE_RERUN_MANIFEST_READ_H

#include "base/error.h"

struct json_t;

/* `path` is a manifest, or the folder of a run that has one. The document has every part that `rerun` looks at, each of
 * its type; json_decref it. NULL: `err` names the file and what is wrong with it (FAULT_UNREADABLE). */
struct json_t *manifest_read(const char *path, error *err);

#endif
