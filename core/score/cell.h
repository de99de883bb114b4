/* One run of a corpus: a process of its own, and what the window says that it left. */
#ifndef CORE_SCORE_CELL_H
#define CORE_SCORE_CELL_H

#include "corpus.h"
#include "reading.h"

typedef struct cell_runner {
  const corpus *corpus;
  const char *program, *folder; /* pdhost; where each run has a folder of its name */
  bool only_read;               /* no run is started: what is there is read, of a fix if it had those settings */
} cell_runner;

/* Why the last run that read "failed" did, in one line. [main thread] */
const char *cell_failure(void);

/* Runs the cell, with the settings `fix` on top or without (NULL), or reads what is there when the same command was run
 * before. Its folder is named after the cell, and `suffix`. A run that failed, or left no window that can be read,
 * reads "failed". False: a signal ended it, or nothing could be run, see `err`. */
bool cell_run(const cell_runner *self, const corpus_cell *cell, const char *fix, const char *suffix, reading *out,
              bool *was_there, error *err);

#endif
