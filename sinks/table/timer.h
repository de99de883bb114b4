/* timer_only: throughput with no trace. A line every few steps, and the Perf Summary at the end; Paddle's names. */
#ifndef SINKS_TABLE_TIMER_H
#define SINKS_TABLE_TIMER_H

#include "text.h"

#include <pdhost/sink.h>

typedef struct timer {
  int64_t batch_size, every;          /* a line after `every` steps; 0: never */
  int64_t reader_ns, batch_ns, steps; /* since the last line */
} timer;

void timer_begin(timer *self, const pd_run *run);
/* Adds the step's line to `out` when it is time for one. */
void timer_step(timer *self, text *out, const pd_step_stats *stats);
/* Over one set of steps: the active ones, or all where none was active. */
void timer_summary(text *out, const pd_run *run, const pd_summary *summary);

#endif
