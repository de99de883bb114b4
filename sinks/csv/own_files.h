/*
 * The files that the csv sink writes in its folder. They have names of their own until the run is over, and get their
 * final ones together, when those that an earlier run left there under the sink's own names go: they would pass for
 * this run's. A run that cannot write all of its files leaves the earlier one's as they were. [loop thread]
 */
#ifndef SINKS_CSV_OWN_FILES_H
#define SINKS_CSV_OWN_FILES_H

#include <pdhost/sink.h>

#include <stdbool.h>

typedef struct own_file {
  char *name;        /* "operators", "events/kernels" */
  uint32_t *windows; /* in order; PD_NONE: written without a number */
  uint32_t count, room;
} own_file;

typedef struct own_files {
  own_file *all;
  uint32_t count, room;
  int64_t run;  /* when it began, in ns: of two containers' processes of one number, each writes files of its own */
  bool on_disk; /* the host has its files there: one that is missing was removed */
} own_files;

/* The path to write `name` to, with the number `window` or (PD_NONE) without one; to be freed. NULL on no memory. */
char *own_files_path(const own_files *self, const char *folder, const char *name, uint32_t window);
/* It is being written there. Windows come in order. */
pd_status own_files_add(own_files *self, const char *name, uint32_t window);

/* `path`, such a one, was written and committed. */
void own_files_written(own_files *self, const char *path);

/* Gives all their final names, announces these, and removes what the sink has written there in other runs and not in
 * this: a file of events by its name, a table by its first line too. What cannot be read or removed stays. Where one of
 * this run's is gone, none gets its name. The failure's message is set. */
pd_status own_files_publish(const own_files *self, const pd_host *host, const char *folder);
/* Removes them, whether they were written or not. */
void own_files_discard(const own_files *self, const char *folder);
void own_files_free(own_files *self);

#endif
