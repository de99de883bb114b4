/*
 * What the host and the device did in the steps of a trace, as the replay (replay.h) needs it: calls and their device
 * records in the order of launching, what held up each record, what each blocking call waited for, whose each call is,
 * and the host's time as items. It does not depend on names that a program gives: threads are judged because they
 * launch, steps come from the trace. Where a fact is missing, the rule that needs it is not used. [one thread at a time
 * for a trace]
 *
 * - The judged device is the one with the most device time. Judged threads launch at least a two hundredth of its
 *   kernels: one that only copies brings batches beside the loop.
 *   Threads whose calls do not overlap hand over to each other and share one lane, which is one clock; others have a
 *   lane of their own.
 * - A call belongs to the step in which it starts, a device record to its call's step, wherever it runs.
 * - A record is queued if it follows the one before on its stream at once, or was launched well before that ended; else
 *   its launch held it up. Its launch also held it up if the record began right after the launch ended, and later than
 *   in a full queue.
 * - An event's wait ties the next launch to the last launch before the record of the event, unless the times refute it.
 *   Where the trace knows which stream waits, the next launch is that stream's, else that of the thread; where it knows
 *   which event (PD_FACT_EVENTS), its record is that one, else the last of the thread.
 */
#ifndef CORE_LEDGER_TIMELINE_H
#define CORE_LEDGER_TIMELINE_H

#include "facts/facts.h"
#include "facts/intervals.h"
#include "replay.h"
#include "timeline_limits.h"

typedef uint8_t timeline_kind; /* of a call */
enum {
  TIMELINE_OTHER,
  TIMELINE_LAUNCH,
  TIMELINE_COPY,
  TIMELINE_SYNC,
  TIMELINE_ALLOCATE,
  TIMELINE_FREE,
  TIMELINE_EVENT_RECORD,
  TIMELINE_EVENT_WAIT
};

typedef struct timeline_call {
  int64_t start_ns, end_ns;
  int64_t own_ns, tail_ns; /* replay_item */
  uint32_t source;         /* call of the trace */
  uint32_t thread, step;
  uint32_t record_first, record_count;
  uint32_t awaited; /* record, or REPLAY_NONE */
  replay_owners owner;
  uint16_t lane;
  timeline_kind kind;
  bool blocks;
  bool waited;           /* for `awaited`, which ended within it */
  bool drains;           /* waits for all work, not for `awaited` alone */
  bool waits_for_device; /* synchronises the whole device */
  bool is_graph;         /* launches one */
  bool churns; /* what lies between it and the next launch or allocator call of its thread is the allocator's */
} timeline_call;

typedef uint8_t timeline_hold; /* what a record's start waited for last */
enum { TIMELINE_BY_LAUNCH, TIMELINE_BY_STREAM, TIMELINE_BY_EDGE };

typedef struct timeline_record {
  int64_t start_ns, end_ns;
  int64_t latency_ns; /* from its call's start */
  int64_t gap_ns;     /* from the end of those before on its stream; below 0: it may begin beside them */
  int64_t edge_ns;    /* from the end of the last record of other streams that it waited for */
  uint32_t source;    /* activity of the trace */
  uint32_t call, stream;
  uint32_t edge_first, edge_count;
  uint32_t pass; /* through the model, from 0; REPLAY_NONE: after the last */
  uint32_t name; /* string id */
  uint8_t kind;  /* pd_activity_kind */
  timeline_hold hold;
  bool backward : 1;                   /* launched in the backward part, where parts are known */
  bool in_chain : 1, leaves_chain : 1; /* leaves: it goes with its chain */
} timeline_record;

/* What the records of later passes took that are like one of the first. */
typedef struct timeline_later {
  int64_t ns;
  uint32_t count;
} timeline_later;

/* A record that begins later behind a full queue than this many times gap_ns was delayed by something unknown. */
enum { TIMELINE_DELAY_GAPS = 3 };
enum { TIMELINE_OWNERS = 9 }; /* bits of replay_owners */

typedef struct timeline {
  const trace_facts *facts;
  timeline_limits limits;
  timeline_call *calls;
  timeline_record *records;
  replay_edge *edges;
  replay_wait *waits; /* of the items */
  int64_t *bounds;    /* of the steps: step_count + 1 of the host's times */
  uint16_t *lane_of;  /* by thread of the trace; TIMELINE_UNJUDGED */
  uint8_t *works;     /* by call of the trace: what it gives the judged device; until threads are judged */
  uint32_t call_count, record_count, edge_count, edge_room, step_count;
  uint16_t lane_count;
  uint32_t device;         /* judged */
  uint32_t backlog;        /* its records that were launched before the recording began */
  uint32_t unlinked;       /* its other records without a call */
  uint32_t device_records; /* of the judged device, all */
  uint32_t devices;
  uint32_t streams_used;      /* of the judged device, in the steps */
  uint32_t kernel_streams;    /* of them, those with kernels */
  int64_t backlog_end_ns;     /* when the last of it was done */
  int64_t latency_ns, gap_ns; /* medians over the records */
  bool has_operations, has_inputs, has_parts;
  bool is_graph;         /* the step of our own training is one already */
  uint64_t operations;   /* that were recorded of judged threads in the steps */
  intervals *inputs;     /* by lane, while items are made: waits for input, as ranges tell */
  intervals *frameworks; /* the same: where a silence is the framework's own */
  intervals busy;        /* of the judged device, by what was launched in the steps */
  bool begins_behind;    /* the first step's work waited behind what was launched before the recording */
  uint32_t passes;       /* through the model in a step, the median; 1 where none are seen */
  timeline_later *later; /* by record; NULL: there is one pass */
  double hops;           /* of chains in a step */
  replay_item *items;
  uint64_t item_count, item_room;
  int64_t idle_ns[TIMELINE_OWNERS]; /* of the device in the steps, by the bit of who owns lane 0 at that time */
  int64_t pageable_ns;              /* of that in copies from pageable memory */
  /* Where operations are not known: launching that lies between two calls of which at least one is this owner's,
   * or that may be computing. It may be a part of what the owner does. */
  int64_t beside_ns[TIMELINE_OWNERS];
  /* Whose lane 0 is, by the bit of its owner; empty for our own training loop (PD_FACT_TRAIN), whose ranges tell more.
   */
  intervals host[TIMELINE_OWNERS];
  intervals made; /* of the waits for input in it, those in which lane 0 makes the batch by operations of its own */
} timeline;

#define TIMELINE_UNJUDGED UINT16_MAX

/* false on no memory; a trace without steps, calls or records gives a timeline with no items. Close it in any case. */
bool timeline_open(const trace_facts *facts, timeline *out);
void timeline_close(timeline *self);

/* How far the two clocks may be apart, and a call that returns as its record ends. */
#define TIMELINE_DOUBT_NS 1000
/* Launched so long before the stream was free, a record was queued. */
#define TIMELINE_AHEAD_NS 2000

/* The parts of timeline_open, in this order; false on no memory. */
bool timeline_see_ranges(timeline *self); /* what ranges tell of operations, parts and input */
bool timeline_link(timeline *self);       /* what held up records, and what calls waited for */
bool timeline_find_edges(timeline *self); /* a part of it: what records waited for by events */
bool timeline_own(timeline *self);        /* whose each call is */
/* The host's time as items. Until timeline_open has ended an item has its begin_ns, and in `wait` its call. */
bool timeline_itemise(timeline *self);
/* Whose a silence is, in the order of time: the thread that makes the call after it, PD_NONE where there is none. */
typedef struct timeline_waiter_thread {
  uint32_t thread;
  bool with_futex; /* where it waits for another thread it waits for input */
} timeline_waiter_thread;
typedef struct timeline_waiter {
  timeline_waiter_thread now, known[8];
  uint32_t known_count;
  int64_t device_end; /* of what was launched before */
  intervals waits;    /* of timeline_waits; the caller frees them */
} timeline_waiter;
#define TIMELINE_WAITER                                                                                                \
  { .now = {.thread = PD_NONE}, .device_end = INT64_MIN }
void timeline_waiter_set(const timeline *self, timeline_waiter *waiter, uint32_t thread);
/* What the call has launched comes after the silence. */
void timeline_waiter_work(const timeline *self, timeline_waiter *waiter, const timeline_call *call);
/* Into `waits`: where in a silence, which a call ends at `then`, the thread was seen to wait for input while the device
 * ran out of work; merged, the long ones. Nothing where waits are marked, or where nothing was seen. false on no
 * memory. */
bool timeline_waits(const timeline *self, timeline_waiter *waiter, int64_t from, int64_t to, int64_t then);
/* Whether the lane's threads make the batch by operations in a piece of input, as a loader without workers does. */
bool timeline_makes_batch(const timeline *self, uint16_t lane, int64_t from, int64_t to);
/* Marks what the captured graph of our own training step does not hold (REPLAY_OUTSIDE): what a scenario launches
 * beside the model, or all where the step is such a graph already. Steps of other programs are taken to be captured
 * whole. */
bool timeline_mark_outside(timeline *self);
bool timeline_find_passes(timeline *self);
bool timeline_find_chains(timeline *self);
bool timeline_count_idle(timeline *self);
void timeline_count_beside(timeline *self);

/* Where the steps were observed to begin and end, as replay_steps has it: step_count + 1 times. */
void timeline_observed(const timeline *of, int64_t *bounds);
/* For sort_runs over a timeline's records: by start. */
bool timeline_starts_after(const void *rows, uint32_t a, uint32_t b);
/* Where the recorder's cost lies, in all steps. */
typedef struct timeline_launching {
  double ns;                /* host time of launching, and of making batches */
  double operations, calls; /* that were recorded */
  double launches;          /* calls with device records */
  double graphs;            /* those of them that launch a graph */
  double graph_records;     /* their device records */
} timeline_launching;

void timeline_count_launching(const timeline *of, timeline_launching *out);
/* Lower quartile of the time from an operation's start to that of the first operation directly in it; 0 where none is
 * nested, too. false on no memory. */
bool timeline_nested(const timeline *of, double *ns);
/* Lower quartile of what the calls took that launched kernels or set memory, graphs and copies apart; 0: there are
 * none. false on no memory. */
bool timeline_launch_quartile(const timeline *of, double *ns);

static inline const pd_call *timeline_source(const timeline *self, const timeline_call *call) {
  return facts_call(self->facts, call->source);
}
static inline const pd_device_row *timeline_row(const timeline *self, const timeline_record *record) {
  return facts_activity(self->facts, record->source);
}
static inline bool timeline_launches_kernel(const timeline *self, const timeline_call *call) {
  for (uint32_t r = call->record_first; r < call->record_first + call->record_count; r++)
    if (self->records[r].kind == PD_ACTIVITY_KERNEL) return true;
  return false;
}

#endif
