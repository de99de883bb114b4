/* See rank_clock.h. */
#include "rank_clock.h"

#include <pdhost/clocks.h>

#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 24 };

pd_status rank_clock_measure(const pd_ranks *ranks, rank_offset **to) {
  int64_t *read_ns = calloc(ranks->count, sizeof *read_ns);
  rank_offset *best = calloc(ranks->count, sizeof *best);
  pd_status status = read_ns && best ? PD_OK : PD_NO_MEMORY;
  *to = NULL;
  for (int round = 0; round < ROUNDS && status == PD_OK; round++) {
    char ping = 0;
    status = ranks->barrier(ranks); /* all wait for the question */
    const int64_t asked_ns = pd_clock_ns(CLOCK_REALTIME);
    if (status == PD_OK) status = ranks->broadcast(ranks, &ping, 1, 0);
    const int64_t own_ns = pd_clock_ns(CLOCK_REALTIME);
    if (status == PD_OK) status = ranks->gather(ranks, &own_ns, sizeof own_ns, read_ns);
    const int64_t answered_ns = pd_clock_ns(CLOCK_REALTIME), bound_ns = (answered_ns - asked_ns + 1) / 2;
    for (uint32_t i = 1; i < ranks->count && status == PD_OK; i++)
      if (round == 0 || bound_ns < best[i].bound_ns)
        best[i] = (rank_offset){
            .at_ns = asked_ns + bound_ns, .offset_ns = read_ns[i] - asked_ns - bound_ns, .bound_ns = bound_ns};
  }
  free(read_ns);
  if (status == PD_OK && ranks->rank == 0)
    *to = best;
  else
    free(best);
  return status;
}

int64_t rank_clock_common(const rank_clock *self, uint32_t rank, int64_t ns) {
  const rank_offset *from = &self->before[rank], *to = &self->after[rank];
  const double length = (double)(to->at_ns - from->at_ns), slope = (double)(to->offset_ns - from->offset_ns);
  const double share = length > 0 ? (double)(ns - from->offset_ns - from->at_ns) / length : 0;
  return ns - from->offset_ns - (int64_t)(slope * share);
}

int64_t rank_clock_bound(const rank_clock *self, uint32_t count, int64_t *drift_ns) {
  int64_t bound = 0;
  *drift_ns = 0;
  for (uint32_t i = 1; i < count; i++) {
    const rank_offset *from = &self->before[i], *to = &self->after[i];
    const int64_t moved = llabs(to->offset_ns - from->offset_ns);
    if (from->bound_ns > bound) bound = from->bound_ns;
    if (to->bound_ns > bound) bound = to->bound_ns;
    if (moved > *drift_ns) *drift_ns = moved;
  }
  return bound;
}
