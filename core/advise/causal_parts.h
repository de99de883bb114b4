/* The parts of a run's step, made slower one after the other. [main thread] */
#ifndef CORE_ADVISE_CAUSAL_PARTS_H
#define CORE_ADVISE_CAUSAL_PARTS_H

#include "causal_curve.h"

#include "config/cli_args.h"
#include "run/delays/delays.h"

/* One part. */
typedef struct causal_part {
  double calls;    /* a step */
  const char *why; /* it cannot be slowed down; NULL: it was */
  causal_curve of; /* with why NULL, CAUSAL_LEAST_ROUNDS at least */
  causal_figure slope;
  causal_path path;
} causal_part;

typedef struct causal_rules {
  double levels[CAUSAL_LEVELS_MOST]; /* the delays, as shares of the step; the first is 0 */
  uint32_t level_count;
  double max_time_s; /* of each part */
} causal_rules;

typedef struct causal_parts {
  causal_part all[DELAYS_COUNT];
  double step_ns; /* without any delay */
} causal_parts;

/* Brings up the run of `args` and measures each part until its slope is known to CAUSAL_WIDTH / 2, or its time is up.
 * The exit code; a message is in `err` or printed. causal_parts_free is due in any case. */
int causal_parts_measure(const cli_args *args, const causal_rules *rules, causal_parts *out, error *err);
void causal_parts_free(causal_parts *self);

#endif
