/*
 * N(0,1) in bulk, by Box and Muller, written so that the compiler vectorises it: no branch, no table, no library call.
 *
 * A pair takes 56 random bits: 24 for the radius, 2 for the quadrant, 24 for the angle within it. Sine and cosine are
 * needed on [-pi/4, pi/4] alone, where their Taylor series of degree 9 and 8 are exact to float32; the logarithm is the
 * minimax polynomial of Cephes' logf.
 */
#include "random.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) &&                \
    !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

/* murmur3's finaliser: every input bit changes every output bit with probability near 1/2. */
static inline uint32_t mix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  h ^= h >> 16;
  return h;
}

/* log(x) for normal x > 0. */
static inline float fast_log(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  /* x = 2^e m with m in [sqrt(1/2), sqrt(2)) */
  const uint32_t shifted = bits - 0x3F3504F3u;
  const float e = (float)((int32_t)shifted >> 23);
  const uint32_t mantissa = (shifted & 0x007FFFFFu) + 0x3F3504F3u;
  float m;
  memcpy(&m, &mantissa, sizeof m);
  const float f = m - 1.0f, f2 = f * f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  return f - 0.5f * f2 + f2 * f * p + e * 0.69314718056f;
}

/* Blocks, so that the two halves of the pairs are written as two plain streams. */
enum { BLOCK = 1024 };

CLONES static void normal_block(float *restrict out, uint32_t first_pair, uint32_t key0, uint32_t key1, float factor) {
  for (uint32_t i = 0; i < BLOCK / 2; i++) {
    const uint32_t a = mix32((first_pair + i) * 0x9E3779B1u + key0);
    const uint32_t b = mix32(mix32((first_pair + i) ^ key1) + a);
    const float u = ((float)(int32_t)(a >> 8) + 0.5f) * 0x1p-24f;
    const float radius = factor * sqrtf(-2.0f * fast_log(u));
    /* uniform on [-pi/4, pi/4) */
    const float t = ((float)(int32_t)(b >> 8) + 0.5f) * (1.57079632679f * 0x1p-24f) - 0.78539816340f;
    const float t2 = t * t;
    const float s = t * (1.0f + t2 * (-1.0f / 6 + t2 * (1.0f / 120 + t2 * (-1.0f / 5040 + t2 * (1.0f / 362880)))));
    const float c = 1.0f + t2 * (-0.5f + t2 * (1.0f / 24 + t2 * (-1.0f / 720 + t2 * (1.0f / 40320))));
    /* Two more bits turn by a quarter (exchange) and by a half (sign). */
    const float x = b & 1 ? s : c, y = b & 1 ? c : s;
    const float sign = b & 2 ? -radius : radius;
    out[i] = x * sign;
    out[BLOCK / 2 + i] = y * (b & 1 ? -sign : sign);
  }
}

void random_normal(float *out, int64_t count, uint64_t key, float factor) {
  const uint64_t mixed = random_mix(key);
  const uint32_t key0 = (uint32_t)mixed, key1 = (uint32_t)(mixed >> 32);
  int64_t at = 0;
  for (; at + BLOCK <= count; at += BLOCK) normal_block(out + at, (uint32_t)(at / 2), key0, key1, factor);
  if (at < count) {
    float rest[BLOCK];
    normal_block(rest, (uint32_t)(at / 2), key0, key1, factor);
    memcpy(out + at, rest, (size_t)(count - at) * sizeof *out);
  }
}
