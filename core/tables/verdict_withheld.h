/* Why no cause is named of a window: see verdict.h for the limits. [loop thread] */
#ifndef CORE_TABLES_VERDICT_WITHHELD_H
#define CORE_TABLES_VERDICT_WITHHELD_H

#include "base/arena.h"
#include "ledger/gains.h"

/* "withheld: 3 active steps are too few, 5 are needed", in the arena; NULL: the gains are to be trusted. */
const char *verdict_withheld(const trace_facts *facts, const gains *of, arena *memory);

#endif
