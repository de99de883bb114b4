/* What to try where the verdict has found a cause, and what it would save. */
#ifndef CORE_LEDGER_VERDICT_ADVICE_H
#define CORE_LEDGER_VERDICT_ADVICE_H

#include "gains.h"
#include "base/arena.h"

#include <pdhost/scenario.h>

/* What the advice rests on beside the verdict. */
typedef struct verdict_setting {
  const trace_facts *facts;
  const gains *gains;
  const pd_cure *cures; /* the scenario's; NULL: none */
  pd_offers offers;     /* what the run could have; not known: all that this kind of device may have */
  uint32_t cores;       /* of the machine */
  int64_t num_workers;  /* of the loader; 0: none, or not known */
  bool is_cuda;
  arena *arena; /* of the texts */
} verdict_setting;

typedef struct verdict_advice {
  const char *options;   /* of the next command */
  const char *overrides; /* "data.num_workers=8 data.prefetch_factor=4"; NULL: nothing to change, look closer */
} verdict_advice;

/* The scenario's own cure for the cause comes first, then a setting of the core's whose gain the replay predicts, then
 * a closer look: what no replay can tell is not suggested. Texts are the arena's. */
verdict_advice verdict_advise(const verdict_setting *self, uint32_t cause);

#endif
