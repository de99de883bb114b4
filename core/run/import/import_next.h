/* What to type after the verdict on another program, where no setting of ours takes the cause away. */
#ifndef CORE_RUN_IMPORT_IMPORT_NEXT_H
#define CORE_RUN_IMPORT_IMPORT_NEXT_H

#include "import.h"
#include "tables/window_tables.h"

typedef struct import_next {
  analysis_follow_up words;
  char *compare, *steps; /* the same, to be freed */
  char *alone;           /* the report on this file, to be freed */
} import_next;

/* The program is recorded again, or the trace of `path` is compared with a new one. A recording has no report on one
 * file, unless its captures are kept. What is read from standard input, or finds no memory, has no command.
 * `no_python`: the option took something away. [loop thread] */
void import_next_make(import_next *self, const config *settings, const import_request *request, const char *path,
                      bool no_python);
void import_next_free(import_next *self);

#endif
