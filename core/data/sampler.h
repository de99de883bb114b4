/* The order of an epoch: a random permutation of the dataset, fresh for every epoch. [loop thread] */
#ifndef CORE_DATA_SAMPLER_H
#define CORE_DATA_SAMPLER_H

#include <stdint.h>

/* Writes a permutation of 0..count-1 that depends on (seed, epoch, count) alone. */
void sampler_shuffle(uint32_t *order, uint32_t count, uint64_t seed, uint64_t epoch);

#endif
