/* Synthetic times: seeded, with the noise that machines have. */
#ifndef TESTS_SUPPORT_MADE_NOISE_H
#define TESTS_SUPPORT_MADE_NOISE_H

#include "base/random_bits.h"

#include <math.h>

static inline double made_noise_uniform(uint64_t *state) {
  return ((double)(random_bits(state) >> 11) + 0.5) * 0x1p-53;
}

static inline double made_noise_normal(uint64_t *state) {
  const double radius = sqrt(-2 * log(made_noise_uniform(state)));
  return radius * cos(6.283185307179586 * made_noise_uniform(state));
}

#endif
