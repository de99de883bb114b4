/* The sentences of the verdict that say what it rests on. Texts are the arena's. */
#ifndef CORE_TABLES_VERDICT_EVIDENCE_H
#define CORE_TABLES_VERDICT_EVIDENCE_H

#include "tables.h"

/* Figures of the ledger for the cause, per step of the window, and what the step takes without it. */
const char *verdict_evidence(const table_work *work, uint32_t cause);
/* The largest gains of the others. */
const char *verdict_ruled_out(const table_work *work, uint32_t cause);

#endif
