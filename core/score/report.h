/* The figures of a corpus as a table, as JSON and as CSV. */
#ifndef CORE_SCORE_REPORT_H
#define CORE_SCORE_REPORT_H

#include "cell.h"
#include "figures.h"

typedef struct score {
  const corpus *corpus;
  const cell_result *results; /* by cell */
  const judged *judged;       /* by cell */
  figures figures;
  const char *const *causes; /* names; 0 is "none" */
} score;

void report_table(const score *self);
/* `folder`/score.json, score.csv (causes) and cells.csv. */
bool report_files(const score *self, const char *folder, error *err);

#endif
