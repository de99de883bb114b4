/* What a run, or a recording, of another process shows. [main thread] */
#ifndef CORE_CLI_LIVE_TOP_FIND_H
#define CORE_CLI_LIVE_TOP_FIND_H

#include "base/error.h"
#include "record/record_live.h"
#include "run/board.h"

typedef struct top_run {
  long pid;
  board *board;      /* mapped, to be read alone; stays after the process is gone. NULL: it is a recording */
  record_live *live; /* the same of a recording; NULL: it is a run */
  char command[160]; /* its command line, cut */
} top_run;

/* `word`: a process of the run, its folder, or NULL for the one run there is. False: `err` says why. */
bool top_find(const char *word, top_run *out, error *err);
bool top_is_alive(const top_run *self);
/* The memory that the run records in, to be closed by the caller; -1: there is none. */
int top_open_room(const top_run *self);
void top_close(top_run *self);

#endif
