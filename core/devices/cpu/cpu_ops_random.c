/* N(0,1) by counter: element i depends on (seed, offset + i) alone. splitmix64 for the bits, Box and Muller for the
 * shape: even counters take the cosine, odd ones the sine of the same pair. */
#include "cpu_ops.h"

#include <math.h>

typedef struct randn_arguments {
  float *y;
  int64_t count;
  uint64_t seed, offset;
} randn_arguments;

static uint64_t splitmix64(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static void pair(uint64_t seed, uint64_t index, float out[2]) {
  const uint64_t bits = splitmix64(splitmix64(seed) + index);
  /* 32 bits each; the radius never takes the logarithm of 0. */
  const float u = ((float)(bits >> 40) + 0.5f) * 0x1p-24f, v = (float)((bits >> 8) & 0xFFFFFF) * 0x1p-24f;
  const float radius = sqrtf(-2.0f * logf(u)), angle = 6.28318530718f * v;
  out[0] = radius * cosf(angle);
  out[1] = radius * sinf(angle);
}

static pd_status run_randn(pd_stream *stream, void *arguments) {
  (void)stream;
  const randn_arguments *p = arguments;
  float both[2];
  uint64_t have = UINT64_MAX;
  for (int64_t i = 0; i < p->count; i++) {
    const uint64_t counter = p->offset + (uint64_t)i;
    if (counter / 2 != have) pair(p->seed, counter / 2, both);
    have = counter / 2;
    p->y[i] = both[counter & 1];
  }
  return PD_OK;
}

pd_status cpu_randn(pd_device *device, pd_stream *stream, const pd_tensor *y, uint64_t seed, uint64_t offset) {
  static pd_site site = PD_SITE("randn", 0);
  const randn_arguments p = {y->data, tensor_count(y), seed, offset};
  if (y->dtype != PD_F32) return refuse(device, "randn");
  return cpu_stream_kernel(stream, &site, run_randn, &p, sizeof p);
}
