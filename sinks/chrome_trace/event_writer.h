/*
 * One Chrome trace file being written: its output, what all events of it share, and the frame of one event. The events
 * themselves are in host_events.c, device_events.c and counter_events.c. [loop thread]
 *
 * Field order, category names and argument names are Kineto's. Speed comes from literals copied whole, names quoted
 * once per trace, and one check for room per event.
 */
#ifndef SINKS_CHROME_TRACE_EVENT_WRITER_H
#define SINKS_CHROME_TRACE_EVENT_WRITER_H

#include "names.h"

#include "../lib/text_out.h"

#include <pdhost/sink.h>

typedef enum flow_mode { FLOWS_KINETO, FLOWS_COMPACT, FLOWS_NONE } flow_mode;
typedef enum counter_mode { COUNTERS_ALL, COUNTERS_FEW, COUNTERS_NONE } counter_mode;

/* Rows of one stream that cannot share its track go to tracks of their own. */
enum {
  SYNC_TRACK = 1000000,
  LANE_TRACK = 20000000,
  STATE_TRACK = 30000000, /* and the index of a thread */
  OVERHEAD_PID = 16777226,
  CONTEXT_SYNC_TRACK = SYNC_TRACK - 1,
  UNKNOWN_STREAM_TRACK = SYNC_TRACK - 2
};

/* The track of the stream of that number. */
static inline uint32_t event_stream_track(uint32_t stream) {
  return stream == PD_STREAM_UNKNOWN ? UNKNOWN_STREAM_TRACK : stream;
}

typedef struct event_writer {
  text_out *out;
  const pd_run *run;
  const pd_trace *trace;
  const name_table *names;
  const pd_analysis *analysis; /* whose tables are asked for last; NULL: none */
  flow_mode flows;
  counter_mode counters;
  bool old_runtime;       /* calls are of category "runtime" */
  uint32_t host_offset;   /* added to the host's pid and thread ids where they would meet a device's or a stream's */
  uint64_t events;        /* written so far */
  uint64_t operations;    /* among them */
  uint64_t clipped;       /* ranges shortened to keep the nesting */
  int64_t from_ns, to_ns; /* only what belongs to this part of the window */
  int64_t last_ns;        /* the latest end so far: the device may work on after the window */
  char host_ids[40];      /* ,"pid":4242,"tid": */
  size_t host_ids_length;
} event_writer;

enum { EVENT_ROOM = 2048 };

#define EVENT_PUT(at, literal) (memcpy((at), literal, sizeof(literal) - 1), (at) + sizeof(literal) - 1)

/* For texts of a few characters. */
static inline char *event_put_text(char *at, const char *text) {
  while (*text) *at++ = *text++;
  return at;
}

static inline bool event_in_part(const event_writer *writer, int64_t ts_ns) {
  return ts_ns >= writer->from_ns && ts_ns < writer->to_ns;
}

static inline uint32_t event_tid(const event_writer *writer, uint32_t thread) {
  return PD_AT(pd_thread, &writer->trace->threads, thread)->tid + writer->host_offset;
}

/* Writes the text of one event so far: separator, `prefix` (up to `"name":`) and the name. EVENT_ROOM bytes are free at
 * the place returned. */
char *event_begin_slow(event_writer *writer, const char *prefix, size_t prefix_length, const name_text *name);

static inline char *event_begin(event_writer *writer, const char *prefix, size_t prefix_length, const name_text *name) {
  if (name->length > 30000) return event_begin_slow(writer, prefix, prefix_length, name);
  char *at = text_out_room(writer->out, EVENT_ROOM + name->length + prefix_length);
  if (writer->events++) at = EVENT_PUT(at, ",\n");
  memcpy(at, prefix, prefix_length);
  at += prefix_length;
  memcpy(at, name->quoted, name->length);
  return at + name->length;
}
#define EVENT_BEGIN(writer, prefix, name) event_begin(writer, prefix, sizeof(prefix) - 1, name)

static inline char *event_host_ids(const event_writer *writer, char *at, uint32_t tid) {
  memcpy(at, writer->host_ids, sizeof writer->host_ids);
  return digits_u64(at + writer->host_ids_length, tid);
}

static inline char *event_ids(char *at, uint32_t pid, uint32_t tid) {
  at = EVENT_PUT(at, ",\"pid\":");
  at = digits_u64(at, pid);
  at = EVENT_PUT(at, ",\"tid\":");
  return digits_u64(at, tid);
}

static inline char *event_ts(char *at, int64_t ts_ns) {
  at = EVENT_PUT(at, ",\"ts\":");
  return digits_us(at, ts_ns);
}

static inline char *event_times(event_writer *writer, char *at, int64_t start_ns, int64_t end_ns) {
  if (end_ns > writer->last_ns) writer->last_ns = end_ns;
  at = event_ts(at, start_ns);
  at = EVENT_PUT(at, ",\"dur\":");
  return digits_us(at, end_ns - start_ns);
}

/* The end that readers compute, who add ts and dur as doubles of microseconds, may lie slightly beyond that of the
 * slice around or the start of the next: then this end is a nanosecond earlier. `limit_us` is the computed end of the
 * slice around; the result's goes to *end_us. */
static inline int64_t event_safe_end(int64_t start_ns, int64_t end_ns, double limit_us, double *end_us) {
  const double exact_us = (double)end_ns / 1000.0;
  if (exact_us < limit_us) limit_us = exact_us;
  *end_us = (double)start_ns / 1000.0 + (double)(end_ns - start_ns) / 1000.0;
  if (*end_us <= limit_us || end_ns <= start_ns) return end_ns;
  end_ns--;
  *end_us = (double)start_ns / 1000.0 + (double)(end_ns - start_ns) / 1000.0;
  return end_ns;
}

static inline void event_end(event_writer *writer, char *at) {
  *at++ = '}';
  writer->out->at = at;
}

/* A flow's start ('s') or end ('f') of category and name `kind` ("ac2g"), bound to the slice at ts. */
void event_flow(event_writer *writer, char phase, const char *kind, uint64_t id, uint32_t pid, uint32_t tid,
                int64_t ts_ns);

/* The same with text that is quoted here. */
void event_metadata_text(event_writer *writer, const char *name, uint32_t pid, uint32_t tid, const char *key,
                         const char *text);
void event_metadata_number(event_writer *writer, const char *name, uint32_t pid, uint32_t tid, const char *key,
                           uint64_t value);

/* Begins a sample of the counter track "GPU 0 WHAT", or "device 0 WHAT" of a device that is not a GPU. */
char *event_counter(event_writer *writer, const char *what, uint32_t device);

/* The number that ties device work to its operation: of a range, of the step a step's range stands for. */
uint64_t event_external_id(const event_writer *writer, uint32_t index);

/* ---- the parts of a file ---- */

/* Memory that lasts over all files of a window: which range is tied to which, on which lane a device row lies. */
typedef struct event_index event_index;
/* NULL on no memory. */
event_index *event_index_build(const pd_trace *trace);
void event_index_free(event_index *index);

/* Steps, ranges, runtime calls, memory instants, forward-backward flows and flow starts. */
void host_events_write(event_writer *writer, const event_index *index);
/* Annotations, kernels, copies, sets, synchronisations, overhead, flow ends. */
void device_events_write(event_writer *writer, const event_index *index);
/* What launching threads were at, where the system was asked. */
void state_events_write(event_writer *writer);
/* The [memory] instants and the counter track of device memory, both from what was live when the file begins. */
void memory_instants_write(event_writer *writer);
void memory_counters_write(event_writer *writer);
/* The counter track of the ledger, where there are tables. PD_NO_MEMORY leaves it out. */
pd_status ledger_events_write(event_writer *writer);
/* The counter tracks that are wanted. PD_NO_MEMORY leaves them out. */
pd_status counter_events_write(event_writer *writer);

#endif
