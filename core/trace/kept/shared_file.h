/* A file in memory: processes that are forked share it, and others of the same user find it by its name. [any thread]
 */
#ifndef CORE_TRACE_KEPT_SHARED_FILE_H
#define CORE_TRACE_KEPT_SHARED_FILE_H

#include <stdint.h>

/* A file of `bytes` zeros, for mmap. `name` is what the links of /proc/PID/fd say: "/memfd:NAME (deleted)". It is the
 * caller's to close: others find it as long as it is open. -1: there is none, since the system has no memory for it, or
 * a limit for the size of files (RLIMIT_FSIZE) is lower, which would end the process. */
int shared_file_make(const char *name, uint64_t bytes);

#endif
