/* What the windows of a run launched, as the manifest has it: each of the first windows alone, and all later ones of a
 * long run together, so that its size does not grow with them. Zeroed at first. */
#ifndef CORE_RUN_MANIFEST_LAUNCHED_WINDOWS_H
#define CORE_RUN_MANIFEST_LAUNCHED_WINDOWS_H

#include "base/sha256.h"

#include <pdhost/trace.h>

#include <jansson.h>
#include <stdbool.h>

enum { LAUNCHED_WINDOWS_APART = 256 };

typedef struct launched_windows {
  json_t *apart; /* NULL: none yet */
  json_t *names; /* of the others: how often each came in all */
  uint64_t others, first_other, steps, partial, operations, launches;
  sha256 sum; /* of the others' hashes, in order */
} launched_windows;

/* False on no memory. */
bool launched_windows_add(launched_windows *self, const pd_trace *trace);
/* An array: an object for each window, and one for all others. NULL on no memory. */
json_t *launched_windows_json(const launched_windows *self);
void launched_windows_free(launched_windows *self);

#endif
