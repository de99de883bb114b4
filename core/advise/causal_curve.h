/* What steps do while one part of them is made slower: delays put in against the time of a step, measured in rounds
 * that have a block of each delay, so that what drifts with time hits all alike. Figures alone. [any thread] */
#ifndef CORE_ADVISE_CAUSAL_CURVE_H
#define CORE_ADVISE_CAUSAL_CURVE_H

#include <stdbool.h>
#include <stdint.h>

enum { CAUSAL_LEVELS_MOST = 5 /* the one without a delay among them */, CAUSAL_LEAST_ROUNDS = 8 };

/* Nanoseconds a step, means of a block of steps. */
typedef struct causal_block {
  double put_ns, step_ns;
} causal_block;

typedef struct causal_curve {
  uint32_t levels;      /* blocks in a round, by rising delay; the first has none */
  causal_block *blocks; /* `levels` a round */
  uint64_t rounds, room;
} causal_curve;

typedef struct causal_figure {
  double value, low, high; /* with the 95 % interval */
} causal_figure;

/* `round` has self->levels blocks, of which the first is above 0. False on no memory. */
bool causal_curve_add(causal_curve *self, const causal_block *round);
void causal_curve_free(causal_curve *self);

/* How much longer a step takes for each nanosecond put in: the least-squares line of each round, and the trimmed mean
 * of those. At least one round; false on no memory. */
bool causal_curve_slope(const causal_curve *self, causal_figure *out);
/* How much longer it takes at `level`, as a share of the step without a delay. */
bool causal_curve_change(const causal_curve *self, uint32_t level, causal_figure *out);
/* Medians of that level's blocks, in nanoseconds: the delay, and the step. */
bool causal_curve_median(const causal_curve *self, uint32_t level, double *put_ns, double *step_ns);

typedef enum causal_path { CAUSAL_OFF, CAUSAL_PARTLY, CAUSAL_ON, CAUSAL_UNCLEAR } causal_path;

/* On the path: surely above 3/4 of each delay shows. Off it: surely less than 1/4. Partly: surely some, by an interval
 * of at most CAUSAL_WIDTH to either side. */
#define CAUSAL_WIDTH 0.1
causal_path causal_path_of(const causal_figure *slope);
/* "on the path" */
const char *causal_path_text(causal_path path);

#endif
