/* Windows that are known: random threads, ranges, calls and records, what they were made from, and whether a merged
 * window is what that says. */
#ifndef TESTS_TRACE_MERGE_KNOWN_H
#define TESTS_TRACE_MERGE_KNOWN_H

#include "recorder_rig.h"
#include "trace/merge.h"

enum { THREADS = 3, RANGES = 40, CALLS = 16, DEVICES = 24, EVENTS = 12, STEPS = 4 };
enum { FIRST_NAME = 1000, ORIGIN = 100000 /* tick at which the clock's first point lies; every case is near it */ };

typedef struct known_range {
  raw_range raw;
  uint32_t parent; /* index into the case's ranges of its thread, or PD_NONE */
  bool lost;       /* its record did not fit the buffer */
} known_range;

typedef struct known_thread {
  known_range ranges[RANGES]; /* in the order of opening; names tell them apart */
  uint32_t count;
  raw_range ended[RANGES];
  uint32_t ended_count;
  raw_memory memory[EVENTS];
  uint32_t memory_count;
} known_thread;

typedef struct known_case {
  known_thread threads[THREADS];
  window_thread windows[THREADS];
  raw_call calls[CALLS];
  raw_device devices[DEVICES];
  recorder_step steps[STEPS];
  window_input input;
  raw_fate fates[CALLS + DEVICES];
} known_case;

/* Losses that the window is to have. */
typedef struct expected_losses {
  uint64_t ambiguous, unmatched_launch, unmatched_activity, zero, implausible, corrected;
  int64_t corrected_ns;
} expected_losses;

extern uint64_t seed; /* of what is drawn */
uint64_t random_below(uint64_t bound);
bool one_in(uint64_t n);

/* With `ties` many stamps are equal; otherwise none are, and some records are lost. With `pauses` there are times
 * between the steps that are cut out of the window. */
void make_case(known_case *known, const trace_clock *clock, string_table *strings, bool ties, bool pauses);
/* A tick on the axis of the trace: ticks since the window's start that lie in no pause. */
int64_t on_axis(const known_case *known, int64_t ticks);
pd_trace *merge_case(known_case *known);
uint32_t tid_of(const pd_trace *trace, uint32_t thread);

/* Assert; `number` is the case's. */
void check_ranges(const known_case *known, const pd_trace *trace, unsigned number);
void check_calls(const known_case *known, const pd_trace *trace, unsigned number, expected_losses *losses);
void check_devices(const known_case *known, const pd_trace *trace, unsigned number, expected_losses *losses);
void check_steps(const pd_trace *trace, unsigned number);
void check_memory(const known_case *known, const pd_trace *trace, unsigned number);

#endif
