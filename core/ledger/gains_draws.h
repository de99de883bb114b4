/* Intervals of the gains, from steps that are drawn with repetition. See gains.h. [one thread at a time for a trace] */
#ifndef CORE_LEDGER_GAINS_DRAWS_H
#define CORE_LEDGER_GAINS_DRAWS_H

#include "gains_judge.h"

/* The cause with the largest of `gains_of` all that could be named, or VERDICT_none. */
uint32_t gains_largest(const gains_judge *self, const double *gains_of);
/* The first `count` causes of the ranking are gone. */
replay_variant gains_together(const gains_judge *self, uint32_t count, double keep);

/* Intervals of all causes, which cause each draw names, and whether the waits for input are in few steps. Needs the
 * steps of gains_judge_run. false on no memory. */
bool gains_draw(const gains_judge *self);
/* Intervals of the causes of the ranking together. Needs the ranking and `without`. false on no memory. */
bool gains_draw_together(const gains_judge *self);

#endif
