/* Where libcupti is looked for: by the profiler and by pdhost doctor, in the same order. [any thread] */
#ifndef DEVICES_CUDA_CUPTI_PLACES_H
#define DEVICES_CUDA_CUPTI_PLACES_H

#include <stdbool.h>

/* File names of the library, the newest first; ends with NULL. */
extern const char *const cupti_places_files[];

/* Calls `visit` for each folder until it returns true, which is returned. "" is the loader's own search: its cache and
 * LD_LIBRARY_PATH. Folders of a toolkit need not exist. The text is valid during the call. */
bool cupti_places_visit(bool (*visit)(void *user, const char *folder), void *user);

#endif
