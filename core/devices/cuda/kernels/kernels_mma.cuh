/* Tensor-core steps: TF32 and float16 with float32 sums, and single precision out of three TF32 steps. */
#ifndef DEVICES_CUDA_KERNELS_MMA_CUH
#define DEVICES_CUDA_KERNELS_MMA_CUH

#include "kernels.cuh"

namespace pd {

__device__ inline float round_tf32(float v) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return __uint_as_float(bits);
}

__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], float *) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], __half *) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Single precision out of TF32 steps: each operand is a rounded part and a rest; the product of the rests is below the
 * last bit. */
template <int N> __device__ inline void split(uint32_t (&high)[N], uint32_t (&low)[N], const uint32_t (&v)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) {
    const float whole = __uint_as_float(v[i]), h = round_tf32(whole);
    high[i] = __float_as_uint(h);
    low[i] = __float_as_uint(round_tf32(whole - h));
  }
}
template <bool Exact, typename C>
__device__ inline void step(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (Exact) {
    uint32_t a_high[4], a_low[4], b_high[2], b_low[2];
    split(a_high, a_low, a);
    split(b_high, b_low, b);
    mma(c, a_low, b_high, (C *)nullptr);
    mma(c, a_high, b_low, (C *)nullptr);
    mma(c, a_high, b_high, (C *)nullptr);
  } else {
    mma(c, a, b, (C *)nullptr);
  }
}

/* A number as the tensor cores take it. */
template <bool Exact> __device__ inline void put(float *to, float v) { *to = Exact ? v : round_tf32(v); }
template <bool Exact> __device__ inline void put(__half *to, float v) { *to = __float2half_rn(v); }

} // namespace pd
#endif
