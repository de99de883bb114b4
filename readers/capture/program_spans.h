/* Ranges of no one thread in the capture of a program. [any thread] */
#ifndef READERS_CAPTURE_PROGRAM_SPANS_H
#define READERS_CAPTURE_PROGRAM_SPANS_H

#include "program_names.h"

#include "../lib/spans.h"

#include "capture/format.h"

/* Takes rows of CAPTURE_SPANS that begin from `from_ns` on and end before `cut_ns`. How many rows cannot be, and are
 * left out. */
uint64_t program_spans_add(spans *self, const capture_annotation *rows, uint32_t count, int64_t from_ns, int64_t cut_ns,
                           const program_names *names);

#endif
