/* What correlate.c (calls) and correlate_devices.c (device records) share. */
#ifndef CORE_TRACE_CORRELATION_H
#define CORE_TRACE_CORRELATION_H

#include "correlate.h"

#include <string.h>

struct correlation {
  merging *merge;
  int64_t *starts;  /* of all calls, on the trace's axis */
  uint32_t *order;  /* all calls that may have device records, by correlation id; room for twice as many */
  uint64_t ordered; /* how many */
  uint32_t *rows;   /* of all calls: row in the trace */
  pd_call *calls;
  uint64_t call_count;
  /* device records that get a row: index of the raw one, and its call's row or PD_NONE */
  uint32_t *kept, *kept_call;
  uint64_t kept_count;
  int64_t *kept_starts, *kept_shifts; /* as recorded, and by how much each is moved */
};

/* Whether device work must follow the call. */
static inline bool correlation_launches(const raw_call *call) {
  return call->result == 0 && call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
}

static inline int64_t correlation_time_of(const merging *self, uint32_t clock, int64_t stamp) {
  if (clock == PD_CLOCK_TICKS) return merge_ticks_ns(self, (uint64_t)stamp);
  return merge_realtime_ns(self, stamp);
}

/* Order by content where nothing else tells two records apart, so that their arrival does not. */
static inline bool correlation_content_after(const void *first, const void *second, size_t bytes) {
  return memcmp(first, second, bytes) > 0;
}

/* Joins the device records to the calls and writes them; after the calls. */
pd_status correlation_add_devices(correlation *self, const raw_fate *call_fates, raw_fate *device_fates);

#endif
