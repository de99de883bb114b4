/* How repeatable a verdict is: by what other windows of the same run might have said. */
#ifndef CORE_LEDGER_VERDICT_REPEAT_H
#define CORE_LEDGER_VERDICT_REPEAT_H

#include "verdict.h"

#define VERDICT_DRAWS 1000
/* Of long windows fewer, so that so many steps are drawn in all, but some. */
#define VERDICT_STEPS_DRAWN 2000000
#define VERDICT_LEAST_DRAWS 20
#define VERDICT_SEED 1

/* The steps that were judged, from the shortest to the longest. */
typedef struct verdict_steps {
  const int64_t *const *rows; /* LEDGER_CAUSE_COUNT of each */
  const int64_t *spans_ns;
  uint64_t count; /* above 0 */
} verdict_steps;

/* Draws as many of the steps as there are, with repetition, and judges them as the window was: without the slowest of
 * every VERDICT_TRIM. Of `draws` so many name `cause`. That is what the steps' scatter leaves open; whether the ledger
 * is right it cannot say. `counts`: room for one per step. (Efron, Bootstrap methods, Ann. Stat. 7 (1979).) */
uint64_t verdict_agreeing_draws(const verdict_steps *steps, const verdict_basis *basis, uint32_t cause,
                                uint64_t *counts, uint64_t *draws);

#endif
