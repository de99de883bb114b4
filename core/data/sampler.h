/* The order of an epoch's samples: a fresh random permutation each. */
#ifndef CORE_DATA_SAMPLER_H
#define CORE_DATA_SAMPLER_H

#include <stdint.h>

/* order[0..count) = a permutation of 0..count-1 that depends on (seed, epoch) alone. count < 2^32. */
void sampler_permute(uint32_t *order, uint64_t count, uint64_t seed, uint64_t epoch);

#endif
