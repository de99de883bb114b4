/* N(0,1) numbers from a counter: Philox4x32-10 and Box-Muller. Element i depends on (seed, offset + i) alone. */
#include "kernels.cuh"

namespace pd {

__device__ inline uint4 philox(uint4 c, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const uint32_t high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    const uint32_t high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

/* Two uniform words to two normal numbers; u is in (0, 1], so that the logarithm is finite. */
__device__ inline float2 normal(uint32_t a, uint32_t b) {
  const float u = fmaf((float)a, 0x1p-32f, 0x1p-33f);
  const float angle = ((float)(int32_t)b) * (3.14159265f * 0x1p-31f);
  const float radius = sqrtf(-2.0f * __logf(fminf(u, 1.0f)));
  float s, c;
  __sincosf(angle, &s, &c);
  return make_float2(radius * c, radius * s);
}

__global__ void __launch_bounds__(256) randn(float *y, int64_t count, uint64_t seed, uint64_t offset, bool wide) {
  const uint64_t first = offset / 4, last = (offset + (uint64_t)count + 3) / 4;
  const uint2 key = make_uint2((uint32_t)seed, (uint32_t)(seed >> 32));
  for (uint64_t group = first + blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; group < last;
       group += (uint64_t)gridDim.x * blockDim.x) {
    const uint4 r = philox(make_uint4((uint32_t)group, (uint32_t)(group >> 32), 0, 0), key);
    const float2 p = normal(r.x, r.y), q = normal(r.z, r.w);
    const int64_t at = (int64_t)(group * 4 - offset);
    if (wide && at + 4 <= count) {
      *reinterpret_cast<float4 *>(y + at) = make_float4(p.x, p.y, q.x, q.y);
    } else {
      const float v[4] = {p.x, p.y, q.x, q.y};
      for (int i = 0; i < 4; i++)
        if (at + i >= 0 && at + i < count) y[at + i] = v[i];
    }
  }
}

} // namespace pd

cudaError_t cuda_randn(const cuda_launch *at, float *y, int64_t count, uint64_t seed, uint64_t offset) {
  const bool wide = pd::aligned(y) && offset % 4 == 0;
  pd::randn<<<pd::blocks_for(count / 4 + 1, 256, (int64_t)at->sm_count * 16), 256, 0, at->stream>>>(y, count, seed,
                                                                                                    offset, wide);
  return cudaGetLastError();
}
