/* What the loop's thread did, as lists of intervals for the ledger (ledger.h): unmerged, and freed one by one by the
 * painter or all by ledger_host_free. */
#ifndef CORE_LEDGER_LEDGER_HOST_H
#define CORE_LEDGER_LEDGER_HOST_H

#include "facts/facts.h"
#include "facts/intervals.h"
#include "gains.h"

typedef struct ledger_host {
  intervals input_io, input_cpu, input; /* waits for a batch; input: all of them */
  intervals allocator;
  intervals outer_sync, inner_sync; /* blocking calls outside and inside train_step */
  intervals outer_tail, inner_tail; /* from their ends to the start of the next launch's work */
  intervals compute;                /* train_step without a call for long */
  intervals transfer;               /* calls that copy from pageable memory */
  intervals transfer_tail;          /* after those, too */
  intervals train;                  /* train_steps, normal */
  intervals between;                /* the rest of steps that have one */
  intervals steps;
  uint64_t blocking_calls; /* inside train_step */
  uint64_t blocking_steps; /* active steps with one there */
} ledger_host;

/* false on no memory; free it all the same. */
bool ledger_host_open(const trace_facts *facts, const gains *of, ledger_host *out);
void ledger_host_free(ledger_host *self);

#endif
