/* Random bits from a seed, for figures that resample: the same data give the same answer. [any thread] */
#ifndef CORE_BASE_RANDOM_BITS_H
#define CORE_BASE_RANDOM_BITS_H

#include <stdint.h>

/* The next 64 of `state`, which begins as any seed (splitmix64: Steele, Lea, Flood, OOPSLA 2014). */
uint64_t random_bits(uint64_t *state);

#endif
