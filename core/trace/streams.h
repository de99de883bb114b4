/* The trace's streams, one row per (device, context, stream) in use, and the names of copies. [loop thread] */
#ifndef CORE_TRACE_STREAMS_H
#define CORE_TRACE_STREAMS_H

#include "merge.h"

typedef struct stream_table stream_table;

/* Collects the streams of the device records `kept` (indices into the window's), sorted, into the trace. */
pd_status streams_open(merging *merge, const uint32_t *kept, uint64_t count, stream_table **out);
void streams_close(stream_table *self);

/* Row of the record's stream; PD_NONE for records of no stream: overhead, and synchronisations of a whole context.
 * Kernels, copies and sets always have a row: those of an unknown stream share one per device and context. */
uint32_t streams_find(const stream_table *self, const pd_activity *activity);

/* "Memcpy HtoD (Pinned -> Device)", "Memset (Device)": Kineto's names. */
uint32_t streams_copy_name(stream_table *self, const pd_activity *activity);

#endif
