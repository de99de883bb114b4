/* For the ledger (ledger.h): what recording the calls of the loop costs it. */
#ifndef CORE_LEDGER_LEDGER_PROFILER_H
#define CORE_LEDGER_LEDGER_PROFILER_H

#include "facts/facts.h"
#include "facts/intervals.h"

/* No call's recording takes longer: 1 to 4 us on an H200. A step that is slower for another reason is not the
 * profiler's fault. */
#define LEDGER_PROFILER_CALL_NS 10000

/*
 * On a GPU, whose profiling library records calls: the last parts of `idle` within calls of the loop's thread, equal
 * ones in all calls that have as much, and together as long as the median active step (in a loop that does not wait for
 * its steps: their mean, on the host) is longer than one without the library (pd_trace.twin where its interval is above
 * 0, else unprofiled_step_ns), over all steps; at most
 * LEDGER_PROFILER_CALL_NS a call. Where the host is far ahead of the device, recording holds up nothing: the steps are
 * no longer then. Adds nothing where it is not known what a step takes without the library. `idle` is normal. false on
 * no memory.
 */
bool ledger_profiler_calls(const trace_facts *facts, const intervals *idle, intervals *out);

#endif
