/* What changed between two runs in where the step goes, for people. [loop thread] */
#ifndef CORE_COMPARE_RUN_CHANGES_H
#define CORE_COMPARE_RUN_CHANGES_H

#include "run_document.h"

#include <stdio.h>

typedef struct run_changes {
  const char *names[2];
  const run_account *sides[2];
} run_changes;

/* Both verdicts, and a table of the parts of a step in milliseconds: those that take RUN_CHANGES_LEAST of either step,
 * the largest change first. */
#define RUN_CHANGES_LEAST 0.005
void run_changes_print(const run_changes *self, bool markdown, FILE *out);

#endif
