/* What rounds of steps with an injection and without it say of its effect. [any thread] */
#ifndef CORE_RUN_TRUTH_EFFECT_H
#define CORE_RUN_TRUTH_EFFECT_H

#include "base/resample.h"

/* A block of steps with the injection and one without: mean time of a step. */
typedef struct truth_block_pair {
  double with_ns, without_ns;
  double amount; /* injected, mean over the timed steps; of a count, whole ones alone; 0: not dialled by the effect */
} truth_block_pair;

typedef struct truth_rounds {
  const truth_block_pair *at;
  uint64_t count;
  double amount; /* that the rounds are to have on average */
} truth_rounds;

typedef struct truth_effect {
  resample_ratio ratio;       /* of a step with it to one without */
  double with_ns, without_ns; /* medians over the rounds */
  double added_ns, error_ns;  /* what it adds to a step, and the standard error of that */
} truth_effect;

/* A trimmed mean of two counts would lean towards the more frequent one. So rounds above `amount` and the others have a
 * mean each, and the effect is the one that a line through both has at `amount`. `of->count` > 0. False on no memory.
 */
bool truth_effect_of(const truth_rounds *of, truth_effect *out);

#endif
