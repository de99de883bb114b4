/* What the parts of a file look up in a trace: see event_writer.h. Built once per window. [loop thread] */
#ifndef SINKS_CHROME_TRACE_EVENT_INDEX_H
#define SINKS_CHROME_TRACE_EVENT_INDEX_H

#include "event_writer.h"

/* One gpu_user_annotation: the device work of one user range on one stream, clipped so that it nests. */
typedef struct annotation {
  int64_t start_ns, end_ns;
  uint32_t range, stream;
} annotation;

/* Tracks of one stream: more than the 128 grids that a GPU runs at once. */
enum { LANES = 256 };

struct event_index {
  uint32_t *calls_by_thread; /* calls grouped by thread, in order of time */
  uint32_t *thread_first;    /* threads + 1 */
  uint32_t *range_first;     /* threads + 1, into ranges */
  uint32_t *rows_by_stream;  /* device rows grouped by stream, in order of time */
  uint32_t *stream_first;    /* streams + 1 */
  uint8_t *lane;             /* of each device row: 0 is the stream's own track */
  uint16_t *lanes_used;      /* of each stream */
  uint64_t crowded;          /* device rows that found no lane free and overlap others on the last one */
  uint32_t *forward_of;      /* of each range: its forward range when it is a backward one, else PD_NONE */
  uint32_t *flow;            /* of each range: id of its fwdbwd flow, 0: none */
  annotation *annotations;
  uint64_t annotation_count;
  uint64_t too_deep;      /* annotations left out, since no viewer nests so deep */
  int64_t *wait_start_ns; /* of each of trace->others: its slice; INT64_MAX: others on its track cover it */
  uint32_t *wait_call;    /* of each of trace->others: the call that waits, PD_NONE: not known */
  uint8_t *stream_waits;  /* of each stream: whether there is one of it */
  uint8_t *call_waits;    /* of each call: whether a slice of the device's is its wait */
};

static inline uint32_t event_index_track(const event_index *index, const pd_trace *trace, uint64_t row_index) {
  const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, row_index);
  const uint32_t lane = index->lane[row_index];
  return event_stream_track(row->detail.stream) + (lane ? LANE_TRACK + (lane - 1) * SYNC_TRACK : 0);
}

/* The stream of a wait or an overhead; NULL: none, or a wait for the whole context. */
static inline const pd_stream_row *event_index_stream(const pd_trace *trace, const pd_other_row *row) {
  return row->stream == PD_NONE ? NULL : PD_AT(pd_stream_row, &trace->streams, row->stream);
}

/* Device and context of a synchronisation: its stream's, else its own. */
static inline uint32_t event_index_device(const pd_trace *trace, const pd_other_row *row) {
  if (row->stream != PD_NONE) return PD_AT(pd_stream_row, &trace->streams, row->stream)->device;
  return row->device;
}
static inline uint32_t event_index_context(const pd_trace *trace, const pd_other_row *row) {
  if (row->stream != PD_NONE) return PD_AT(pd_stream_row, &trace->streams, row->stream)->context;
  return row->context;
}

/* Fills the annotations; the rest of the index is there. */
pd_status annotations_build(event_index *index, const pd_trace *trace);
/* Fills the fields of waits, which are there and zero. */
pd_status waits_build(event_index *index, const pd_trace *trace);

#endif
