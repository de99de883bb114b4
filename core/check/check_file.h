/* One file, read and checked: a trace by its reader, or the capture of a run. [loop thread] */
#ifndef CORE_CHECK_CHECK_FILE_H
#define CORE_CHECK_CHECK_FILE_H

#include "check_clock.h"
#include "check_ranks.h"

#include "config/config.h"

typedef struct check_file {
  const char *path; /* borrowed */
  int code;         /* CODE_DONE, or why it could not be read: the user was told */
  bool is_told;     /* why its rows could not be checked */
  char reader[64];  /* "kineto"; "capture" */
  uint64_t ranges, calls, works, windows;
  check_clock clock; /* of the last window */
  check_findings findings;
  check_rank rank;
} check_file;

/* `reader`: its name, or NULL. */
void check_file_read(check_file *self, const config *settings, const char *reader, const char *path);
void check_file_free(check_file *self);

#endif
