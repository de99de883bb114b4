/* For the ledger (ledger.h): when kernels of one stream run while kernels of another wait for an event. */
#ifndef CORE_LEDGER_LEDGER_STREAMS_H
#define CORE_LEDGER_LEDGER_STREAMS_H

#include "facts/facts.h"
#include "facts/intervals.h"

/*
 * The kernel that is launched next after an event wait waits from its launch, and from the end of the record before it
 * on its stream, to its start, if that is longer than the device's latency. What counts is the time in which
 * another stream's kernels run meanwhile: from each step's start on, as much of it as the step would save if its
 * streams ran side by side. That is the time its kernels take together less that of the stream with the most.
 * Collectives are no such kernels: they wait for other ranks, not for streams. false on no memory; free `out`.
 */
bool ledger_streams_serialised(const trace_facts *facts, int64_t latency_ns, intervals *out);

#endif
