/*
 * The files that the csv sink has written in its folder, and the removal of those that an earlier run left there under
 * the sink's own names: they would pass for this run's. [loop thread]
 */
#ifndef SINKS_CSV_OWN_FILES_H
#define SINKS_CSV_OWN_FILES_H

#include <pdhost/plugin.h>

typedef struct own_file {
  char *name;          /* "operators", "events/kernels" */
  bool of_run;         /* written without a number */
  uint32_t window_end; /* one past the last window written with its number */
} own_file;

typedef struct own_files {
  own_file *all;
  uint32_t count, room;
} own_files;

/* `name` was written in `folder`, with the number `window` or (PD_NONE) without one. Windows come in order. */
pd_status own_files_add(own_files *self, const char *folder, const char *name, uint32_t window);
/* Removes what the sink has written there in other runs and not in this: a file of events by its name, a table by its
 * first line too. What cannot be read or removed stays. */
void own_files_remove_others(const own_files *self, const char *folder);
void own_files_free(own_files *self);

#endif
