/*
 * See noise.h. Box and Muller's transformation: element i and element i + count/2 come from counter i, r cos and r sin.
 *
 * The body has no branch and no call, so that the compiler turns it into vectors; it is compiled once per instruction
 * set. This file is built without contraction of a*b+c, which keeps all of them equal to the bit.
 */
#include "noise.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

uint64_t noise_mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/* Two rounds of a 32 bit mixer, a key before each: one key alone would make the sequences of two samples overlap. */
INLINE uint32_t hash(uint32_t x, uint32_t key0, uint32_t key1) {
  x += key0;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  x ^= key1;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return x;
}

INLINE float as_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
INLINE uint32_t as_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* ln(u) for a normal u > 0, to 2e-7: u = 2^e m with m in [sqrt(1/2), sqrt(2)), then Cephes' polynomial. */
INLINE float log_of(float u) {
  const uint32_t shifted = as_bits(u) - 0x3f3504f3u; /* of sqrt(1/2) */
  const float e = (float)((int32_t)shifted >> 23);
  const float f = as_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0F;
  const float z = f * f;
  float p = 7.0376836292e-2F;
  p = p * f - 1.1514610310e-1F;
  p = p * f + 1.1676998740e-1F;
  p = p * f - 1.2420140846e-1F;
  p = p * f + 1.4249322787e-1F;
  p = p * f - 1.6668057665e-1F;
  p = p * f + 2.0000714765e-1F;
  p = p * f - 2.4999993993e-1F;
  p = p * f + 3.3333331174e-1F;
  return f + (p * f * z - 0.5F * z) + e * 0.693147181F;
}

/* cos and sin of `turn` / 2^32 turns, to 4e-7: the nearest quarter and a rest within 1/8 turn. */
INLINE void cos_sin(uint32_t turn, float *cosine, float *sine) {
  const uint32_t quarter = (turn + 0x20000000u) >> 30;
  const float x = (float)(int32_t)(turn - (quarter << 30)) * 1.46291807926716e-9F; /* 2 pi / 2^32 */
  const float z = x * x;
  const float s = x + x * z * (-1.6666654611e-1F + z * (8.3321608736e-3F - z * 1.9515295891e-4F));
  const float c =
      1.0F - 0.5F * z + z * z * (4.166664568298827e-2F + z * (-1.388731625493765e-3F + z * 2.443315711809948e-5F));
  const uint32_t odd = 0u - (quarter & 1u);
  const uint32_t cosine_bits = (as_bits(s) & odd) | (as_bits(c) & ~odd);
  const uint32_t sine_bits = (as_bits(c) & odd) | (as_bits(s) & ~odd);
  *cosine = as_float(cosine_bits ^ (((quarter + 1u) & 2u) << 30));
  *sine = as_float(sine_bits ^ ((quarter & 2u) << 30));
}

INLINE void pair(uint32_t i, const uint32_t key[4], float factor, float *first, float *second) {
  /* (0, 1]: 0 has no logarithm */
  const float u = ((float)(int32_t)(hash(i, key[0], key[1]) >> 1) + 0.5F) * 0x1p-31F;
  const float r = sqrtf(-2.0F * log_of(u));
  float cosine, sine;
  cos_sin(hash(i, key[2], key[3]), &cosine, &sine);
  *first = r * cosine * factor;
  *second = r * sine * factor;
}

INLINE void fill(float *restrict out, int64_t count, uint64_t key, float factor) {
  const uint64_t more = noise_mix(key);
  const uint32_t keys[4] = {(uint32_t)key, (uint32_t)(key >> 32), (uint32_t)more, (uint32_t)(more >> 32)};
  const uint32_t half = (uint32_t)(count / 2);
  float *restrict second = out + half;
  for (uint32_t i = 0; i < half; i++) pair(i, keys, factor, &out[i], &second[i]);
  float spare;
  if (count % 2) pair(half, keys, factor, &out[count - 1], &spare);
}

typedef void (*fill_fn)(float *out, int64_t count, uint64_t key, float factor);

static void fill_plain(float *out, int64_t count, uint64_t key, float factor) { fill(out, count, key, factor); }

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void fill_avx2(float *out, int64_t count, uint64_t key, float factor) {
  fill(out, count, key, factor);
}
#if defined(__clang__)
#define WIDE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"), min_vector_width(512)))
#else
#define WIDE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
#endif
WIDE static void fill_avx512(float *out, int64_t count, uint64_t key, float factor) { fill(out, count, key, factor); }

int noise_path_count(void) {
  if (!__builtin_cpu_supports("avx2")) return 1;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
             ? 3
             : 2;
}
static const fill_fn paths[] = {fill_plain, fill_avx2, fill_avx512};
#else
int noise_path_count(void) { return 1; }
static const fill_fn paths[] = {fill_plain};
#endif

void noise_normal_path(int path, float *out, int64_t count, uint64_t key, float factor) {
  paths[path](out, count, key, factor);
}

void noise_normal(float *out, int64_t count, uint64_t key, float factor) {
  paths[noise_path_count() - 1](out, count, key, factor);
}
