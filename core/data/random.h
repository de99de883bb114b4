/* Counter-based random numbers of the dataset: nothing depends on what was drawn before. */
#ifndef CORE_DATA_RANDOM_H
#define CORE_DATA_RANDOM_H

#include <stdint.h>

/* Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators": the finaliser as a hash. */
static inline uint64_t random_mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* out[0..count) = factor * N(0,1); element i depends on (key, i) alone. Vectorised. count < 2^33. */
void random_normal(float *out, int64_t count, uint64_t key, float factor);

#endif
