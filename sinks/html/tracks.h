/*
 * The events of a window in the order of the timeline: lane by lane (threads, streams, states of threads), in a lane
 * row by row, in a row by time. The events of a row do not overlap, so that a reader finds what lies at a time by
 * halving. [loop thread]
 */
#ifndef SINKS_HTML_TRACKS_H
#define SINKS_HTML_TRACKS_H

#include "text_pool.h"

#include <pdhost/trace.h>

/* X(name, what a reader sees): what an event is. The order is the timeline script's, too. */
#define TRACK_KINDS(X)                                                                                                 \
  X(OPERATION, "operation")                                                                                            \
  X(ANNOTATION, "annotation")                                                                                          \
  X(STEP, "step")                                                                                                      \
  X(INPUT, "input")                                                                                                    \
  X(MODULE, "module")                                                                                                  \
  X(CALL, "runtime call")                                                                                              \
  X(KERNEL, "kernel")                                                                                                  \
  X(COPY, "copy")                                                                                                      \
  X(SET, "set")                                                                                                        \
  X(WAIT, "wait on the device")                                                                                        \
  X(OVERHEAD, "profiler overhead")                                                                                     \
  X(STATE, "state of the thread")
enum {
#define X(name, text) TRACK_##name,
  TRACK_KINDS(X)
#undef X
};

typedef struct track_event {
  int64_t start_ns, end_ns;
  uint32_t lane;          /* threads come first, then streams, then the states of threads */
  uint32_t row;           /* of the lane, 0 at the top */
  uint32_t name, details; /* texts of the pool */
  uint32_t kind;
  uint32_t call; /* of a device record: its call, in pd_trace.calls; of a call: itself; else PD_NONE */
} track_event;

typedef struct tracks {
  track_event *events;
  uint64_t count, room;
  uint64_t left_out; /* begin at `until_ns` or later */
  text_pool texts;
  uint32_t *name_of; /* text of each string of the trace, + 1; 0: not asked for yet */
} tracks;

/* Takes what begins before `until_ns`. False on no memory; `out` may be freed either way. */
bool tracks_open(const pd_trace *trace, int64_t until_ns, tracks *out);
void tracks_free(tracks *self);

/* What is known of an event beyond its name, one thing a line ("grid 32, 1, 1"), as a text of the pool; UINT32_MAX on
 * no memory. */
uint32_t track_details_range(text_pool *texts, const pd_trace *trace, const pd_range *range);
uint32_t track_details_call(text_pool *texts, const pd_call *call);
uint32_t track_details_device(text_pool *texts, const pd_device_row *row);

#endif
