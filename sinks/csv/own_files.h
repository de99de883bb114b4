/*
 * The files that the csv sink writes in its folder. They have temporary names until the run is over, and get their
 * final names together. A file of the same name is replaced; every other file in the folder stays as it is, whoever
 * wrote it. "files.csv", which gets its name last, lists the files of this run. A run that cannot write all of its
 * files leaves the folder as it was. [loop thread]
 */
#ifndef SINKS_CSV_OWN_FILES_H
#define SINKS_CSV_OWN_FILES_H

#include <pdhost/sink.h>

#include <stdbool.h>

typedef struct own_file {
  char *name;      /* "operators", "events/kernels" */
  uint32_t window; /* PD_NONE: written without a number */
  bool written;    /* it lies on the disk under its temporary name */
  uint64_t bytes;  /* once it is written */
} own_file;

typedef struct own_files {
  own_file *all;
  uint32_t count, room;
  char prefix[24]; /* that the host puts before the names of this rank's files; "" of one rank */
  int64_t run;     /* when it began, in ns: of two containers' processes of one number, each writes files of its own */
  bool on_disk;    /* the host has its files there: one that is missing was removed */
} own_files;

/* The path to ask the host for, to write `name`, with the number `window` or (PD_NONE) without one; to be freed. NULL
 * on no memory. */
char *own_files_path(const own_files *self, const char *folder, const char *name, uint32_t window);
/* It is being written there. */
pd_status own_files_add(own_files *self, const char *name, uint32_t window);

/* The file added last was written and committed. */
void own_files_written(own_files *self, const char *folder);

/* The name of file `index` in the folder, "operators.3.csv"; to be freed. NULL on no memory. */
char *own_files_name(const own_files *self, uint32_t index);

/* Gives all their final names, in the order in which they were added, and announces these. Where a file of this run is
 * gone, none gets its name. The failure's message is set. */
pd_status own_files_publish(const own_files *self, const pd_host *host, const char *folder);
/* How many csv files of the folder are not of this run, after they were published; of one rank, those of the rank. */
uint64_t own_files_others(const own_files *self, const char *folder);
/* Removes those that were written and have no final name. */
void own_files_discard(const own_files *self, const char *folder);
void own_files_free(own_files *self);

#endif
