/* A timeline as a program of the replay. [one thread at a time for a trace] */
#ifndef CORE_LEDGER_PROGRAM_H
#define CORE_LEDGER_PROGRAM_H

#include "timeline.h"

typedef struct program {
  replay replay; /* its items and edges are the timeline's */
  replay_record *records;
  replay_merged *merged; /* NULL: there is one pass */
} program;

/* `of` has steps; it stays as long as the program does, and its items get their `pauses`. false on no memory; close it
 * in any case. */
bool program_open(timeline *of, program *out);
void program_close(program *self);
/* What the device takes between two records that a graph is made of, ns. */
int64_t program_captured_gap(const timeline *of);
/* What the device itself takes between two records of a full queue; limits.queue_gap_ns until this is called. */
void program_set_queue_gap(program *self, const timeline *of, int64_t own_ns);

#endif
