/*
 * The end of what was recorded of a program that was killed: the recorder takes CUPTI's buffers one by one, so that
 * after its last flush some threads' calls and some kernels are there and others are not. What lies there is left out,
 * and so is what was launched before it and had not run by then. [any thread]
 */
#ifndef READERS_CAPTURE_PROGRAM_TAIL_H
#define READERS_CAPTURE_PROGRAM_TAIL_H

#include <pdhost/record.h>

typedef struct tail_call {
  uint64_t correlation;
  int64_t start_ns;
  bool is_launch;
} tail_call;

typedef struct program_tail {
  int64_t whole_until_ns; /* everything until then was taken; INT64_MAX: all that there was */
  int64_t cut_ns;         /* program_tail_cut: nothing from then on is used */
  int64_t last_ns;        /* of all rows that were added */
  tail_call *calls;       /* of the last seconds before whole_until_ns, and all after */
  uint64_t *works;        /* correlations of the device records of that time */
  uint32_t call_count, call_room, work_count, work_room;
} program_tail;

/* Begins with `whole_until_ns` set and all else zero. PD_NO_MEMORY is the one failure. */
pd_status program_tail_add(program_tail *self, const pd_activity *row);
/* All rows were added. */
void program_tail_cut(program_tail *self);
/* Whether a row is used. */
bool program_tail_has(const program_tail *self, const pd_activity *row);
void program_tail_free(program_tail *self);

#endif
