/* One run of a corpus: a process of its own, and the verdict that it wrote. */
#ifndef CORE_SCORE_CELL_H
#define CORE_SCORE_CELL_H

#include "corpus.h"

typedef struct cell_result {
  char cause[32];           /* "failed" when the run did not end well */
  double share, confidence; /* per cent */
  double step_ns;
} cell_result;

/* Runs the cell in `folder`/its name, or takes its result from there when the same command was run before. `program` is
 * pdhost. False: a signal ended it, or nothing could be run, see `err`. */
bool cell_run(const corpus *all, const corpus_cell *cell, const char *program, const char *folder, cell_result *result,
              bool *was_there, error *err);

/* Reads the verdict of the table in `path`, as the csv sink writes it. */
bool cell_read_verdict(const char *path, cell_result *result);

#endif
