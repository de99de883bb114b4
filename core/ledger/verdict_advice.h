/* What to try where the verdict has found a cause, and what it would save. */
#ifndef CORE_LEDGER_VERDICT_ADVICE_H
#define CORE_LEDGER_VERDICT_ADVICE_H

#include "tables/tables.h"

typedef struct verdict_advice {
  const char *options;   /* of the next command */
  const char *overrides; /* "data.num_workers=8 data.prefetch_factor=4"; NULL: nothing to change, look closer */
  int64_t saved_ns;      /* of all steps that the verdict rests on */
} verdict_advice;

/* `rows`: the ledger's, of `steps` steps, `step_ns` each. The scenario's own cure for the cause comes first, then a
 * setting of the core's, then a closer look. Texts are the arena's. */
verdict_advice verdict_advise(const table_work *work, uint32_t cause, const int64_t *rows, int64_t step_ns,
                              uint64_t steps);

#endif
