/*
 * How far the clock of each rank is off that of rank 0: by messages there and back, before and after what is measured.
 * The clock of a rank was read between the moments at which rank 0 asked and had the answer: half of the fastest such
 * time is the bound. Between the two measurements the offset is taken to be linear. [loop thread]
 */
#ifndef CORE_RUN_RANK_CLOCK_H
#define CORE_RUN_RANK_CLOCK_H

#include <pdhost/communicator.h>

typedef struct rank_offset {
  int64_t at_ns, offset_ns, bound_ns; /* at: by rank 0's clock; offset: the rank's clock less rank 0's */
} rank_offset;

typedef struct rank_clock {
  rank_offset *before, *after; /* by rank, on rank 0 */
} rank_clock;

/* All ranks: `*to` gets an array by rank on rank 0, NULL elsewhere; the caller frees it. */
pd_status rank_clock_measure(const pd_ranks *ranks, rank_offset **to);
/* What `ns` of rank `rank`'s clock is by rank 0's. */
int64_t rank_clock_common(const rank_clock *self, uint32_t rank, int64_t ns);
/* The largest bound of any rank, and how much the offset of any changed between the measurements. */
int64_t rank_clock_bound(const rank_clock *self, uint32_t count, int64_t *drift_ns);

#endif
