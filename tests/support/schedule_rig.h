/*
 * Random schedules of training steps with a ledger known beforehand: a host and a device walk through labelled segments
 * in turn, and each segment books its nanoseconds as it writes its records.
 */
#ifndef TESTS_SUPPORT_SCHEDULE_RIG_H
#define TESTS_SUPPORT_SCHEDULE_RIG_H

#include "ledger/ledger.h"
#include "fake_trace.h"

enum { SCHEDULE_MAX_STEPS = 3, SCHEDULE_MAX_WAITS = 8 };

typedef struct schedule {
  fake_trace *fake;
  uint64_t random;
  int64_t now; /* host and device both stand here */
  uint64_t correlation;
  uint32_t streams[3], loader; /* the last one is for copies alone */
  int64_t loader_free;         /* when the loader's thread made its last batch */
  uint32_t step, steps;
  int64_t passes;                    /* through the model in each step */
  bool syncs;                        /* the loop synchronises around train_step */
  bool copies_ahead;                 /* for the trace: copies on streams of kernels came too late */
  bool tail;                         /* a blocking call was the last thing before a launch: */
  uint32_t behind;                   /* whose idle time follows it */
  int64_t busy[2], together;         /* kernels of each stream, and of both, in the step */
  int64_t waits[SCHEDULE_MAX_WAITS]; /* kernels that the other stream waits for, in order */
  uint32_t wait_count, wait_causes[SCHEDULE_MAX_WAITS];
  int64_t want[SCHEDULE_MAX_STEPS][LEDGER_OWNER_COUNT];
} schedule;

/* A whole schedule of 1 to SCHEDULE_MAX_STEPS steps from a seed. Finish and close `fake` yourself. */
void schedule_make(schedule *self, uint64_t seed);

#endif
