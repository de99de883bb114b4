/* For the ledger (ledger.h): what it costs that a step goes through the model in several passes. */
#ifndef CORE_LEDGER_LEDGER_PASSES_H
#define CORE_LEDGER_LEDGER_PASSES_H

#include "facts/facts.h"
#include "facts/intervals.h"

/* Forward passes per step, rounded down: ranges "forward" of the loop's thread. */
uint64_t ledger_passes_per_step(const trace_facts *facts);

/*
 * What one large pass would not need of each kernel, in a step with `passes` passes:
 * - all of one that adds gradients to those of an earlier pass, aten::add_ in the backward part;
 * - of any other, once for each pass but one: its fixed part, LEDGER_TINY_CUDA_NS, or all of it if it is shorter; on a
 *   device of threads what its weights take (weights.h);
 * - of the rest of its time what its last wave leaves of the device empty, as far as the blocks of all passes together
 *   would fill it: 1 - ceil(passes * waves) / (passes * ceil(waves)). Source:
 *   "Wave quantization" in NVIDIA's Matrix Multiplication Background User's Guide.
 * What is left out is the kernel's last part. Adds nothing with one pass; a device without grids says nothing of how
 * full it was, and is taken as full. false on no memory.
 */
bool ledger_passes_cost(const trace_facts *facts, uint64_t passes, intervals *out);

#endif
