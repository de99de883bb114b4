/*
 * Correlation: runtime call to host range by time on its thread, device record to call by correlation id.
 *
 * A call belongs to the window it starts in; a device record to its call's, whenever it ran.
 */
#ifndef CORE_TRACE_CORRELATE_H
#define CORE_TRACE_CORRELATE_H

#include "merge.h"

typedef struct correlation correlation;

/* Decides which calls this window keeps. */
pd_status correlation_open(merging *merge, raw_fate *call_fates, correlation **out);
/* Writes calls, device rows, others and streams; after the trace's threads, steps and ranges are there. */
pd_status correlation_run(correlation *self, const raw_fate *call_fates, raw_fate *device_fates);
void correlation_close(correlation *self);

#endif
