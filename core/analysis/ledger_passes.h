/* For the ledger (ledger.h): what it costs that a step goes through the model in several passes. */
#ifndef CORE_ANALYSIS_LEDGER_PASSES_H
#define CORE_ANALYSIS_LEDGER_PASSES_H

#include "facts.h"
#include "intervals.h"

/* Forward passes per step, rounded down: ranges "forward" of the loop's thread. */
uint64_t ledger_passes_per_step(const trace_facts *facts);

/*
 * Of each kernel of a step with `passes` of them what one large pass would not need:
 * - all of one that adds gradients to those of an earlier pass, aten::add_ in the backward part;
 * - of one whose grid fills the device for less than one wave, the last 1 - max(waves, 1 / passes) of its time: as many
 *   passes' blocks as fit would run at once.
 * Adds nothing with one pass. false on no memory.
 */
bool ledger_passes_cost(const trace_facts *facts, uint64_t passes, intervals *out);

#endif
