/* See serving.h. */
#include "serving.h"

#include <stdio.h>
#include <string.h>

static bool begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

static bool is_iteration(const char *name, const void *user) {
  (void)user;
  if (begins(name, "step[")) return strstr(name, " bs=") != NULL;
  if (!begins(name, "execute_")) return false;
  const char *behind = strstr(name, "_context_");
  if (behind) return strstr(behind, "_generation_") != NULL;
  return begins(name, "execute_new_") && strstr(name, "_cached_") != NULL;
}

static bool trains(const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const uint32_t part = PD_AT(pd_range, &trace->ranges, i)->part;
    if (part == PD_PART_BACKWARD || part == PD_PART_OPTIMIZATION) return true;
  }
  return false;
}

pd_status serving_find(const pd_trace *trace, found_steps *out) {
  const pd_status status = step_finder_ranges(trace, is_iteration, NULL, out);
  if (status != PD_OK || !out->count) return status;
  if (trains(trace)) {
    found_steps_free(out);
    return PD_OK;
  }
  snprintf(out->words, sizeof out->words, "steps are the iterations that the inference server marks");
  return PD_OK;
}
