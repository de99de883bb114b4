/* Device memory that a step makes and frees again outside the model's parts. */
#ifndef CORE_LEDGER_TEMPORARIES_H
#define CORE_LEDGER_TEMPORARIES_H

#include "facts/facts.h"
#include "facts/intervals.h"

/* Adds how many there are and their bytes to `count` and `bytes`, and the spans in which any of them lives to `alive`,
 * which is normal then. false on no memory; free `alive` in any case. */
bool temporaries_find(const trace_facts *facts, uint64_t *count, uint64_t *bytes, intervals *alive);

#endif
