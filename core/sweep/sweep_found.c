/* See sweep_found.h. */
#include "sweep_found.h"

#include <math.h>

const sample *sweep_found_at(const sweep_found *self, uint32_t cell) {
  for (uint32_t i = 0; i < self->from->count && self->cells[cell]; i++)
    if (self->from->all[i].of == self->cells[cell]) return &self->from->all[i];
  return NULL;
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
