/* Why no cause is named of a window: see verdict.h for the limits. [loop thread] */
#ifndef CORE_TABLES_VERDICT_WITHHELD_H
#define CORE_TABLES_VERDICT_WITHHELD_H

#include "base/arena.h"
#include "ledger/gains.h"

/* Below this share of the step the device is not said to be busy. */
#define VERDICT_BUSY_ENOUGH 0.5

typedef struct verdict_remedy {
  const char *helps;
  bool steps_unknown; /* the window is another program's, whose steps were not named, and which nothing showed */
} verdict_remedy;

/* The program marks no steps, and none were found. The window is then the whole recording, shown as one step. */
bool verdict_steps_unknown(const trace_facts *facts);
/* "withheld: 3 active steps are too few, 5 are needed", in the arena; NULL: the gains are to be trusted.
 * `remedy`, unless it is NULL, then says what to do about it; else it is left alone. */
const char *verdict_withheld(const trace_facts *facts, const gains *of, arena *memory, verdict_remedy *remedy);

#endif
