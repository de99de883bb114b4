/* What a window launched: the names of operations, kernels, copies and sets, in the order in which the loop's thread
 * launched them. Two runs that do the same have the same sequence, however long each part took. [any thread] */
#ifndef CORE_RUN_MANIFEST_LAUNCH_SEQUENCE_H
#define CORE_RUN_MANIFEST_LAUNCH_SEQUENCE_H

#include "base/sha256.h"

#include <pdhost/trace.h>

typedef struct launch_sequence {
  uint64_t operations, launches;
  char sha256[SHA256_TEXT_BYTES]; /* of the names, each ended by a newline */
  uint64_t *counts;               /* of each string id of the trace; the trace's `strings.count` of them */
} launch_sequence;

/* Counts the operations and device records that belong to a step. Where batches are copied ahead (copies_ahead), when a
 * copy comes depends on how fast the loader is: then kernels alone count. The only failure is PD_NO_MEMORY; free
 * `counts`. */
pd_status launch_sequence_find(const pd_trace *trace, launch_sequence *out);

#endif
