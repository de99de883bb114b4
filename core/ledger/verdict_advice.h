/* What to try where the verdict has found a cause. */
#ifndef CORE_LEDGER_VERDICT_ADVICE_H
#define CORE_LEDGER_VERDICT_ADVICE_H

#include "cures.h"

typedef struct verdict_advice {
  const char *options;   /* of the next command */
  const char *overrides; /* "data.num_workers=8 data.prefetch_factor=4"; NULL: nothing to change, look closer */
  cure saves;            /* what these bring: cure_saves; without them the whole gain of the cause */
} verdict_advice;

/* The first cure (cures.h) whose gain is predicted, else a closer look: what no replay can tell is not suggested. Texts
 * are the arena's. `self` has facts. */
verdict_advice verdict_advise(const verdict_setting *self, uint32_t cause);

#endif
