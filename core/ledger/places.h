/*
 * Where a cause comes from: of the calls that are its own, the operation, the module and the line of the program with
 * the most of them. The line is that of the program's own code, not of the framework's. [one thread at a time for a
 * trace]
 */
#ifndef CORE_LEDGER_PLACES_H
#define CORE_LEDGER_PLACES_H

#include "timeline.h"

typedef struct place {
  uint32_t operation, module, frame; /* string ids; 0: not recorded. operation 0: nothing is known of the place */
  uint64_t calls;                    /* there */
  uint64_t of_calls;                 /* of the cause */
  uint32_t places;                   /* that make some of them, this one among them */
  double share;                      /* of the calls, or of the time in them, that is here; 0 to 1 */
} place;

/* Finds the place with the most calls of this owner, or, with `by_time`, the one where the host spent the most time in
 * them. false on no memory. */
bool places_find(const timeline *of, replay_owners owner, bool by_time, place *out);

#endif
