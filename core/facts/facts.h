/*
 * What every table needs of a trace, computed once: self times, device time and memory of each range, and which
 * operation holds it. Columns by range and by call; linear in events. [one thread; then any number read it]
 *
 * Calls may stick out of their range by the error of the clocks. Each moment of a thread still has one owner, so that a
 * self time is never negative and the self times of a thread add up to the time it had any range or call open.
 */
#ifndef CORE_FACTS_FACTS_H
#define CORE_FACTS_FACTS_H

#include <pdhost/trace.h>

#include <string.h>

typedef struct facts_memory {
  int64_t bytes[2]; /* allocated minus freed, by device_type: 0 pinned host, 1 device; nested ranges included */
  int64_t self_bytes[2];
} facts_memory;

typedef struct trace_facts {
  const pd_trace *trace;
  void *columns; /* the memory of the arrays below */
  uint64_t range_count, call_count, activity_count, step_count;
  int64_t *range_self_ns;
  int64_t *call_self_ns;
  int64_t *device_self_ns;  /* by range: device time launched directly in it */
  int64_t *device_total_ns; /* nested ranges included */
  uint32_t *operation;      /* by range: outermost operation that holds it or is it; PD_NONE */
  uint32_t *inner;          /* by range: within that operation, the outermost range that holds it or is it; PD_NONE for
                             * the operation itself */
  facts_memory *memory;     /* by range; NULL without memory events */
  bool *communication;      /* by string id */
  uint32_t deepest;         /* most ranges that hold one */
  bool has_communication;   /* any string is one's name */
  bool one_device;          /* all streams are of one device */
  int64_t steps_ns;         /* sum of the steps' spans */
  int64_t self_cpu_ns;      /* sum of all self host times */
  int64_t device_ns;        /* sum of the spans of all device records */
} trace_facts;

/* NULL on no memory. */
trace_facts *facts_open(const pd_trace *trace);
/* Without the columns, and with 0 for what is summed from them: all that the gains need, in a few bytes. facts_fill
 * makes them; false on no memory. */
trace_facts *facts_open_bare(const pd_trace *trace);
bool facts_fill(trace_facts *self);
void facts_close(trace_facts *self);
/* Whether launches of graphs made more than half of the device's records. */
bool facts_mostly_graphs(const trace_facts *self);

/* The first range of the thread that begins at `at` or later; ranges are sorted by thread, then by their start. */
uint64_t facts_range_from(const trace_facts *facts, uint32_t thread, int64_t at);
static inline const pd_range *facts_range(const trace_facts *self, uint64_t i) {
  return PD_AT(pd_range, &self->trace->ranges, i);
}
static inline const pd_call *facts_call(const trace_facts *self, uint64_t i) {
  return PD_AT(pd_call, &self->trace->calls, i);
}
static inline const pd_device_row *facts_activity(const trace_facts *self, uint64_t i) {
  return PD_AT(pd_device_row, &self->trace->activities, i);
}
static inline const pd_trace_step *facts_step(const trace_facts *self, uint64_t i) {
  return PD_AT(pd_trace_step, &self->trace->steps, i);
}
/* A step after its wait for a batch: what pd_trace.unprofiled_step_ns is where steps wait for the device. */
static inline double facts_fed_step_ns(const trace_facts *self, uint64_t i) {
  const pd_trace_step *step = facts_step(self, i);
  return (double)(step->end_ns - step->start_ns - step->data_wait_ns);
}
static inline const char *facts_text(const trace_facts *self, uint32_t id) {
  return pd_trace_string(self->trace, id)->text;
}
/* Whether another program than pdhost recorded it. */
static inline bool facts_is_read(const pd_trace *trace) {
  return trace->origin && strcmp(trace->origin, "pdhost") != 0;
}
/* A record or range that ends before it starts counts as empty. */
static inline int64_t facts_span(int64_t start, int64_t end) { return end > start ? end - start : 0; }

static inline bool facts_is_operation(pd_range_kind kind) { return kind == PD_RANGE_OP; }
/* Whether a string is the name of collective communication, as NCCL's and Gloo's ranges and kernels are called. */
static inline bool facts_is_communication(const trace_facts *self, uint32_t name) {
  return name < self->trace->strings.count && self->communication[name];
}

#endif
