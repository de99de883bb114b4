/*
 * Ranges that the program starts and ends by an id, on any threads: they need not lie within one another, so they are
 * shown on rows of their own, beside those of the threads. [any thread]
 */
#ifndef READERS_CAPTURE_PROGRAM_SPANS_H
#define READERS_CAPTURE_PROGRAM_SPANS_H

#include "capture/format.h"

#include <pdhost/reader.h>

typedef struct program_span {
  int64_t start_ns, end_ns;
  uint32_t name; /* the intake's */
  uint32_t row;
} program_span;

/* Begins with all zero. */
typedef struct program_spans {
  program_span *all;
  uint32_t count, room;
  bool failed; /* out of memory */
} program_spans;

/* Takes rows of CAPTURE_SPANS that begin from `from_ns` on and end before `cut_ns`. `names`: the intake's string ids by
 * the file's. How many rows cannot be, and are left out. */
uint64_t program_spans_add(program_spans *self, const capture_annotation *rows, uint32_t count, int64_t from_ns,
                           int64_t cut_ns, const uint32_t *names, uint32_t name_count);
/* Gives them to the intake, of process `pid`. PD_NO_MEMORY is the one failure. */
pd_status program_spans_give(program_spans *self, const pd_intake *intake, uint32_t pid);
void program_spans_free(program_spans *self);

#endif
