/* The sampler; see sampler.h. Fisher and Yates' shuffle. */
#include "sampler.h"

#include "random.h"

void sampler_permute(uint32_t *order, uint64_t count, uint64_t seed, uint64_t epoch) {
  const uint64_t key = random_mix(random_mix(seed ^ 0x73616D706C65u) + epoch);
  for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
  for (uint64_t i = count; i > 1; i--) {
    /* The high half of a product: uniform to 2^-32. */
    const uint64_t j = ((random_mix(key + i) >> 32) * i) >> 32;
    const uint32_t kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
}
