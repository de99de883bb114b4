/*
 * What a reader puts in, and the pd_trace that comes of it: sorted, nested and correlated as the recorder's own windows
 * are (merge.h), but from rows that carry nanoseconds of one clock, and without a loop of ours. [loop thread]
 */
#ifndef CORE_TRACE_INTAKE_INTAKE_H
#define CORE_TRACE_INTAKE_INTAKE_H

#include "memory_left.h"

#include <pdhost/reader.h>

#include <stdbool.h>

/* Times this far from 0 on both sides differ by a number of 64 bits. An event with one that is farther is left out. */
#define INTAKE_FARTHEST INT64_C(4500000000000000000)
static inline bool intake_can_hold(int64_t start_ns, int64_t end_ns) {
  return start_ns > -INTAKE_FARTHEST && start_ns < INTAKE_FARTHEST && end_ns > -INTAKE_FARTHEST &&
         end_ns < INTAKE_FARTHEST;
}

/* The name of a device that the file does not describe. */
#define INTAKE_DEVICE_UNKNOWN "unknown device"

typedef struct intake intake;

/* Takes what is odd about a file, a line each, how many bytes of it have been read, and the records of a run's capture.
 * Each function may be NULL. */
typedef struct intake_listener {
  void *user;
  void (*odd)(void *user, pd_odd how, const char *text);
  void (*progress)(void *user, uint64_t bytes, uint64_t of);
  void (*record)(void *user, const pd_captured *record);
} intake_listener;

pd_status intake_open(const intake_listener *listener, intake **out);
void intake_close(intake *self);
/* The table that a reader gets; valid until intake_close. */
const pd_intake *intake_table(const intake *self);

/* The trace of all rows so far. Its steps are the marks that the reader gave; where there are fewer than two, it has
 * none: see step_finder.h and trace_steps.h. The rows are gone afterwards, and the intake can only be closed. The trace
 * owns what it holds but for `origin`, which is borrowed. PD_STOP: there is no row at all. */
pd_status intake_finish(intake *self, uint32_t window, const char *origin, pd_trace **out);

/* Whether sorting and analysing what was read needs more memory than there is. The rows are dropped then, as soon as
 * that shows, and intake_finish returns PD_NO_MEMORY. */
const memory_guard *intake_memory(const intake *self);

#endif
