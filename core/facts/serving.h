/*
 * Iterations of an inference server, which vLLM and SGLang mark by a range each:
 *   vLLM    execute_context_2(96)_generation_30(30), execute_32_context_2(...)_generation_30(...),
 *           execute_new_2_cached_30
 *   SGLang  step[DECODE bs=32], step[EXTEND bs=2 toks=96]
 * A program that trains may hold a server, too: beside a range of a backward pass or an optimizer there are none.
 * Kernels do not tell: torch._foreach_copy_ launches those of optimizers. [any thread]
 */
#ifndef CORE_FACTS_SERVING_H
#define CORE_FACTS_SERVING_H

#include "step_finder.h"

/* PD_NO_MEMORY is the one failure. */
pd_status serving_find(const pd_trace *trace, found_steps *out);

#endif
