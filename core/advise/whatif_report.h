/* What `pdhost whatif` says. [main thread] */
#ifndef CORE_ADVISE_WHATIF_REPORT_H
#define CORE_ADVISE_WHATIF_REPORT_H

#include "predictions.h"
#include "compare/ab_trial.h"

/* Smaller gains are listed in one line; a cure that saves less is said to have saved nothing. */
#define WHATIF_LEAST 0.01

typedef struct whatif_trial {
  const prediction *of;
  uint32_t cure; /* of->cures[cure] */
  ab_trial got;
} whatif_trial;

typedef struct whatif_report {
  const predictions *of;
  const whatif_trial *trials; /* of a cause one after the other, causes as in `of` */
  uint32_t trial_count;
} whatif_report;

void whatif_report_text(const whatif_report *self);
/* False on no memory. */
bool whatif_report_json(const whatif_report *self);

#endif
