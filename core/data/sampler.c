/* See sampler.h. */
#include "sampler.h"

#include "noise.h"

/* Uniform in 0..bound-1 without bias (Lemire, arXiv:1805.10941). */
static uint32_t below(uint64_t *state, uint32_t bound) {
  const uint32_t reject = (0u - bound) % bound;
  for (;;) {
    const uint64_t product = (noise_mix((*state)++) >> 32) * bound;
    if ((uint32_t)product >= reject) return (uint32_t)(product >> 32);
  }
}

void sampler_shuffle(uint32_t *order, uint32_t count, uint64_t seed, uint64_t epoch) {
  uint64_t state = noise_mix(noise_mix(~seed) + epoch);
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  for (uint32_t i = count; i > 1; i--) {
    const uint32_t j = below(&state, i), taken = order[i - 1];
    order[i - 1] = order[j];
    order[j] = taken;
  }
}
