/* What `pdhost tune` says. [main thread] */
#ifndef CORE_ADVISE_TUNE_REPORT_H
#define CORE_ADVISE_TUNE_REPORT_H

#include "tune_path.h"

typedef struct tune_report {
  const tune_path *path;
  const predictions *of; /* of the run as it began */
  const ab_trial *whole; /* of all that is kept, against the run as it began; NULL: nothing is */
  const char *end;       /* why it ended: "nothing is left to try" */
  const char *file;      /* written; NULL: none */
  double spent_s, budget_s;
} tune_report;

void tune_report_text(const tune_report *self);
/* False on no memory. */
bool tune_report_json(const tune_report *self);

#endif
