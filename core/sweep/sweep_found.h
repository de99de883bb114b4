/* What a sweep measured, by cell. [loop thread] */
#ifndef CORE_SWEEP_SWEEP_FOUND_H
#define CORE_SWEEP_SWEEP_FOUND_H

#include "sweep_plan.h"
#include "compare/samples.h"

typedef struct sweep_found {
  const sweep_plan *plan;
  const pd_measurement *const *cells; /* by cell; NULL: not measured */
  const samples *from;                /* of those that were, in their order */
  const char *of;                     /* what a time is of: "iteration" */
} sweep_found;

/* The sample of a cell; NULL: not measured. */
const sample *sweep_found_at(const sweep_found *self, uint32_t cell);
/* Its keys and values; returns `name`. */
const char *sweep_found_name(const sweep_found *self, uint32_t cell, char *name, size_t room);

typedef struct sweep_extremes {
  uint32_t best, worst; /* cells; cell_count: none was measured */
} sweep_extremes;
sweep_extremes sweep_found_extremes(const sweep_found *self);

/* How a cell compares with the best one. */
typedef enum sweep_standing {
  SWEEP_STANDING_SLOWER,
  SWEEP_STANDING_TIE,
  SWEEP_STANDING_TOO_FEW,
  SWEEP_STANDING_TIMELESS
} sweep_standing;

/* With fewer blocks than a direction needs, one that was not found says nothing. `at` may be NULL: SLOWER. False on no
 * memory. */
bool sweep_found_standing(const sample *best, const sample *at, sweep_standing *out);

#endif
