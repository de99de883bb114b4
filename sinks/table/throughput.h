/* timer_only: throughput with no trace. A line every few steps, with Paddle's names. */
#ifndef SINKS_TABLE_THROUGHPUT_H
#define SINKS_TABLE_THROUGHPUT_H

#include "text.h"

#include <pdhost/sink.h>

enum { TIMER_KEPT = 256 };

typedef struct timer {
  const char *unit;                                 /* of what is counted per second: a word for samples, or "steps" */
  int64_t batch_size, every;                        /* a line after `every` steps; 0: never */
  int64_t reader_ns, batch_ns, steps;               /* since the last line */
  double reader_s[TIMER_KEPT], batch_s[TIMER_KEPT]; /* the first of these steps: their spread says how many digits */
} timer;

void timer_begin(timer *self, const pd_run *run);
/* Adds the step's line to `out` when it is time for one. `analysis` may be NULL, or older. */
void timer_step(timer *self, const pd_analysis *analysis, text *out, const pd_step_stats *stats);

#endif
