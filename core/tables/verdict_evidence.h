/* The sentences of the verdict that say what it rests on. Texts are the arena's. */
#ifndef CORE_TABLES_VERDICT_EVIDENCE_H
#define CORE_TABLES_VERDICT_EVIDENCE_H

#include "tables.h"

/* Figures of the ledger for the cause, per step of the window, and what the step takes without it. */
const char *verdict_evidence(const table_work *work, uint32_t cause);
/* The largest gains of the others, without those that a tenth of the resamples or more name. */
const char *verdict_other_causes(const table_work *work, uint32_t cause);
/* What most of the resamples that do not name `cause` name; VERDICT_COUNT: all of them name it. */
uint32_t verdict_rival(const gains *of, uint32_t cause);
/* "pageable copies (1.2 %)"; of VERDICT_none its words alone. */
const char *verdict_named_gain(arena *memory, const gains *of, uint32_t cause);

/* From this share of the steps on, the text says that a busy device does not compute. */
#define VERDICT_ALONE_SAID 0.3
/* The share of the steps' time that copies, or collectives, take while nothing else runs. */
double verdict_copying(const table_work *work);
double verdict_communicating(const table_work *work);

#endif
