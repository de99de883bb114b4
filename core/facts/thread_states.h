/*
 * What the system saw of the program's threads while the device was idle (pd_trace.states): the reason why nothing was
 * launched. At each moment the thread that makes the next launch is looked at; what it does inside a call of CUDA's is
 * the call's. Without rows nothing is said. [loop thread]
 */
#ifndef CORE_FACTS_THREAD_STATES_H
#define CORE_FACTS_THREAD_STATES_H

#include "facts.h"
#include "intervals.h"

enum { THREAD_STATES = PD_HOST_BLOCKED + 1 };

/* Calls `visit` with each row of the thread that touches [from, to), cut to it, in the order of time, until it returns
 * false. */
void thread_states_visit(const pd_trace *trace, uint32_t thread, int64_t from, int64_t to,
                         bool (*visit)(void *user, const pd_state_row *row, int64_t start_ns, int64_t end_ns),
                         void *user);

/* One thing that threads were doing. */
typedef struct idle_reason {
  pd_host_state state;
  uint32_t name;   /* string id */
  int64_t idle_ns; /* while the device was idle */
} idle_reason;

/* A place of the program's code. */
typedef struct idle_place {
  uint32_t place;   /* string id */
  uint64_t samples; /* taken there while the device was idle */
} idle_place;

typedef struct idle_reasons {
  idle_reason *rows; /* the longest first */
  uint32_t count, room;
  int64_t idle_ns;    /* of the device, in the steps and outside calls of the thread that launches next */
  int64_t known_ns;   /* of that, with a row */
  idle_place *places; /* most samples first */
  uint32_t place_count, place_room;
  uint64_t samples; /* of all places */
} idle_reasons;

/* Zero where the trace has no states. false on no memory. Free it in any case. */
bool idle_reasons_open(const trace_facts *facts, idle_reasons *out);
void idle_reasons_free(idle_reasons *self);

/* "running", "blocked in read() of a pipe". */
void idle_reason_words(const trace_facts *facts, const idle_reason *of, char *out, size_t room);

#endif
