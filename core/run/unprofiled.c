/* See unprofiled.h. */
#include "unprofiled.h"

#include "base/resample.h"
#include "base/stats.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdlib.h>

enum { TWIN_ROUNDS_LEAST = 2, TWIN_SEED = 1 };

void unprofiled_add(unprofiled *self, int64_t step_ns) { self->ns[self->count++ % UNPROFILED_KEPT] = step_ns; }

int64_t unprofiled_step(const unprofiled *self) {
  if (self->pace_ns > 0) return self->pace_ns;
  const uint64_t count = self->count < UNPROFILED_KEPT ? self->count : UNPROFILED_KEPT;
  double values[UNPROFILED_KEPT];
  if (count < UNPROFILED_LEAST) return 0;
  for (uint64_t i = 0; i < count; i++) values[i] = (double)self->ns[i];
  return (int64_t)llround(stats_spread(values, count).median);
}

void unprofiled_twin_begin(unprofiled *self) { self->round_count = 0; }

bool unprofiled_twin_add(unprofiled *self, uint64_t round, bool recorded, int64_t step_ns) {
  if (!PD_ARRAY_FIT(self->rounds, self->round_room, round + 1)) return false;
  while (self->round_count <= round) self->rounds[self->round_count++] = (twin_round){0};
  twin_block *block = recorded ? &self->rounds[round].recorded : &self->rounds[round].without;
  block->sum_ns += (double)step_ns;
  block->count++;
  return true;
}

static double mean_of(const twin_block *block) { return block->sum_ns / (double)block->count; }

bool unprofiled_twin_cost(const unprofiled *self, pd_twin *out) {
  *out = (pd_twin){0};
  double *more = malloc((self->round_count + 1) * sizeof *more), without_ns = 0;
  resample_change found;
  uint32_t count = 0;
  if (!more) return false;
  for (uint64_t i = 0; i < self->round_count; i++) {
    const twin_round *round = &self->rounds[i];
    if (!round->recorded.count || !round->without.count) continue;
    more[count++] = mean_of(&round->recorded) - mean_of(&round->without);
    without_ns += mean_of(&round->without);
  }
  const bool ok = count < TWIN_ROUNDS_LEAST || resample_differences(more, count, TWIN_SEED, &found);
  free(more);
  if (!ok || count < TWIN_ROUNDS_LEAST) return ok;
  *out = (pd_twin){.step_ns = llround(without_ns / count),
                   .added_ns = llround(found.change),
                   .low_ns = llround(found.low),
                   .high_ns = llround(found.high),
                   .rounds = count};
  return true;
}

void unprofiled_close(unprofiled *self) { free(self->rounds); }
