/* What the kernel files share: conversions, 16-byte packs, reductions over a warp and over a grid. */
#ifndef DEVICES_CUDA_KERNELS_CUH
#define DEVICES_CUDA_KERNELS_CUH

#include "kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace pd {

__device__ inline float load(const float *p) { return *p; }
__device__ inline float load(const __half *p) { return __half2float(*p); }
__device__ inline float load(const __nv_bfloat16 *p) { return __bfloat162float(*p); }
__device__ inline void store(float *p, float v) { *p = v; }
__device__ inline void store(__half *p, float v) { *p = __float2half_rn(v); }
__device__ inline void store(__nv_bfloat16 *p, float v) { *p = __float2bfloat16_rn(v); }

template <typename T> struct alignas(16) pack {
  static constexpr int width = 16 / sizeof(T);
  T v[width];
};

/* N elements as they lie in memory, read and written in 16-byte accesses where N fills them. */
template <typename T, int N> struct alignas(N * sizeof(T) % 16 == 0 ? 16 : sizeof(T)) raw { T v[N]; };
template <typename T, int N> __device__ inline raw<T, N> load_raw(const T *from) {
  return *reinterpret_cast<const raw<T, N> *>(from);
}
template <typename T, int N> __device__ inline void store_raw(T *to, const raw<T, N> &v) {
  *reinterpret_cast<raw<T, N> *>(to) = v;
}

/* N elements as floats: one 16-byte access when N fills a pack, single accesses otherwise. */
template <typename T, int N> __device__ inline void load_n(float (&to)[N], const T *from) {
  if constexpr (N * sizeof(T) % 16 == 0) {
    constexpr int width = pack<T>::width;
#pragma unroll
    for (int j = 0; j < N / width; j++) {
      pack<T> in = reinterpret_cast<const pack<T> *>(from)[j];
#pragma unroll
      for (int i = 0; i < width; i++) to[j * width + i] = load(&in.v[i]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = load(from + i);
  }
}
template <typename T, int N> __device__ inline void store_n(T *to, const float (&from)[N]) {
  if constexpr (N * sizeof(T) % 16 == 0) {
    constexpr int width = pack<T>::width;
#pragma unroll
    for (int j = 0; j < N / width; j++) {
      pack<T> out;
#pragma unroll
      for (int i = 0; i < width; i++) store(&out.v[i], from[j * width + i]);
      reinterpret_cast<pack<T> *>(to)[j] = out;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) store(to + i, from[i]);
  }
}

__device__ inline float warp_sum(float v) {
#pragma unroll
  for (int mask = 16; mask; mask >>= 1) v += __shfl_xor_sync(0xffffffffu, v, mask);
  return v;
}
__device__ inline float warp_max(float v) {
#pragma unroll
  for (int mask = 16; mask; mask >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, mask));
  return v;
}

/* Sum over the block, the same value in every thread. At most 1024 threads in x, one dimension. */
__device__ inline float block_sum(float v) {
  __shared__ float sums[32];
  const int warps = (int)(blockDim.x + 31) / 32;
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < warps; i++) total += sums[i];
  return total;
}
__device__ inline float block_max(float v) {
  __shared__ float tops[32];
  const int warps = (int)(blockDim.x + 31) / 32;
  v = warp_max(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = v;
  __syncthreads();
  float top = tops[0];
  for (int i = 1; i < warps; i++) top = fmaxf(top, tops[i]);
  return top;
}

/* True in every thread of the last of `blocks` blocks to come here: what the others wrote to global memory before is
 * visible to it through __ldcg(). Leaves the counter zero. */
__device__ inline bool last_block(uint32_t *counter, uint32_t blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    last = atomicAdd(counter, 1u) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

inline bool aligned(const void *p) { return ((uintptr_t)p & 15u) == 0; }
inline uint32_t blocks_for(int64_t items, int64_t per_block, int64_t most) {
  int64_t blocks = (items + per_block - 1) / per_block;
  if (blocks > most) blocks = most;
  return blocks < 1 ? 1u : (uint32_t)blocks;
}

/* Calls f with a null pointer of the C++ type of `dtype`: one that the small kernels take, or any. */
template <typename F> inline cudaError_t with_small_type(pd_dtype dtype, F f) {
  if (dtype == PD_F32) return f((float *)nullptr);
  if (dtype == PD_F16) return f((__half *)nullptr);
  return cudaErrorInvalidValue;
}
template <typename F> inline cudaError_t with_type(pd_dtype dtype, F f) {
  if (dtype == PD_BF16) return f((__nv_bfloat16 *)nullptr);
  return with_small_type(dtype, f);
}

} // namespace pd
#define PD_POINTEE(p) typename std::remove_pointer<decltype(p)>::type
#endif
