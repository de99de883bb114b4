/* Which libraries this process has loaded, each by what it holds and not by where it lies. [any thread] */
#ifndef CORE_RUN_MANIFEST_LOADED_LIBRARIES_H
#define CORE_RUN_MANIFEST_LOADED_LIBRARIES_H

#include <stdbool.h>

struct json_t;

enum { LOADED_LIBRARY_ID_BYTES = 160 };

/* "build-id:HEX" where the linker put one in, a hash of what it linked; else "sha256:HEX", of a file beyond 64 MiB
 * "bytes:N". `path` as it was loaded; "": the program. */
void loaded_libraries_id(const char *path, char id[LOADED_LIBRARY_ID_BYTES]);

/* Adds the same of each library to `object`, by file name. `leave_out` says by its path which one is not wanted. False
 * on no memory. */
bool loaded_libraries_add(struct json_t *object, bool (*leave_out)(const void *user, const char *path),
                          const void *user);

#endif
