/* See sweep_found.h. */
#include "sweep_found.h"

#include "compare/comparison.h"
#include "compare/sample_ratio.h"

#include <math.h>

const sample *sweep_found_at(const sweep_found *self, uint32_t cell) {
  for (uint32_t i = 0; i < self->from->count && self->cells[cell]; i++)
    if (self->from->all[i].of == self->cells[cell]) return &self->from->all[i];
  return NULL;
}

const char *sweep_found_name(const sweep_found *self, uint32_t cell, char *name, size_t room) {
  return sweep_plan_name(self->plan, cell, 0, sweep_plan_key_count(self->plan), name, room);
}

sweep_extremes sweep_found_extremes(const sweep_found *self) {
  sweep_extremes found = {self->plan->cell_count, self->plan->cell_count};
  double least = INFINITY, most = -1;
  for (uint32_t i = 0; i < self->plan->cell_count; i++) {
    const sample *at = sweep_found_at(self, i);
    if (!at) continue;
    if (at->figures.median < least) {
      least = at->figures.median;
      found.best = i;
    }
    if (at->figures.median > most) {
      most = at->figures.median;
      found.worst = i;
    }
  }
  return found;
}

bool sweep_found_standing(const sample *best, const sample *at, sweep_standing *out) {
  sample_ratio ratio;
  *out = SWEEP_STANDING_SLOWER;
  if (!at || at == best) return true;
  if (!sample_ratio_of(best, at, COMPARISON_MARGIN, &ratio)) return false;
  if (ratio.timeless)
    *out = SWEEP_STANDING_TIMELESS;
  else if (ratio.found == OUTCOME_UNCLEAR && ratio.count < COMPARISON_DIRECTION_LEAST)
    *out = SWEEP_STANDING_TOO_FEW;
  else if (ratio.found != OUTCOME_SLOWER)
    *out = SWEEP_STANDING_TIE;
  return true;
}
