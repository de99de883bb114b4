/*
 * What the two small-convolution kernels share: the patches of an image as rows of a matrix, and the tensor-core steps.
 *
 * The library pads three input channels to eight or more; here a 3x3 patch of three channels is one row of 27 numbers,
 * padded to 32, and the whole convolution is one pass over the larger tensor.
 */
#ifndef DEVICES_CUDA_KERNELS_CONV_SMALL_CUH
#define DEVICES_CUDA_KERNELS_CONV_SMALL_CUH

#include "kernels_mma.cuh"

namespace pd {

constexpr int patch_length = 27, patch_width = 32, group_channels = 64;

/* Where output pixel `q` lies; `image` < 0: beyond the end. */
struct pixel {
  int image, row, column;
};
__device__ inline pixel pixel_of(const cuda_conv_small &p, uint32_t q, uint32_t total) {
  if (q >= total) return {-1, 0, 0};
  const uint32_t plane = (uint32_t)p.out_height * (uint32_t)p.out_width;
  const uint32_t rest = q % plane;
  return {(int)(q / plane), (int)(rest / (uint32_t)p.out_width), (int)(rest % (uint32_t)p.out_width)};
}

/* Part of a patch, between its reading and its use: what lies outside the image is read elsewhere and not used, so that
 * all reads are under way at the same time. */
template <typename X, int N> struct fragment {
  X v[N];
  uint32_t inside; /* a bit each */
};

/* Reads numbers First .. First+N-1 of the patch of one output pixel. */
template <int First, int N, typename X>
__device__ inline void gather(fragment<X, N> &f, const cuda_conv_small &p, const pixel &at) {
  const int top = at.row * p.stride - p.padding, left = at.column * p.stride - p.padding;
  const int c_step = (int)p.x_stride[1], r_step = (int)p.x_stride[2], s_step = (int)p.x_stride[3];
  const X *x = static_cast<const X *>(p.x);
  const X *base = x + at.image * p.x_stride[0] + top * r_step + left * s_step;
  uint32_t rows = 0, columns = 0; /* which of the three lie inside */
#pragma unroll
  for (int i = 0; i < 3; i++) {
    rows |= at.image >= 0 && (uint32_t)(top + i) < (uint32_t)p.height ? 1u << i : 0u;
    columns |= (uint32_t)(left + i) < (uint32_t)p.width ? 1u << i : 0u;
  }
  f.inside = 0;
#pragma unroll
  for (int i = 0; i < N; i++) {
    const int k = First + i, c = k / 9, r = k % 9 / 3, s = k % 3;
    if (k >= patch_length) continue;
    const bool inside = c < p.channels && rows >> r & columns >> s & 1u;
    f.inside |= inside ? 1u << i : 0u;
    f.v[i] = *(inside ? base + c * c_step + r * r_step + s * s_step : x);
  }
}
/* Writes them as the tensor cores take them. Number 27 is 1 where `ones`: its column of the product is then the sum of
 * the other operand. */
template <int First, int N, bool Exact, typename X, typename C>
__device__ inline void put_all(C *to, const fragment<X, N> &f, bool ones) {
  pack<C> out[N / pack<C>::width];
#pragma unroll
  for (int i = 0; i < N; i++) {
    const int k = First + i;
    const float v = k < patch_length ? (f.inside >> i & 1u ? load(&f.v[i]) : 0.0f) : k == patch_length && ones;
    put<Exact>(&out[i / pack<C>::width].v[i % pack<C>::width], v);
  }
#pragma unroll
  for (int i = 0; i < N / pack<C>::width; i++) reinterpret_cast<pack<C> *>(to + First)[i] = out[i];
}

__device__ inline float load_weight(const cuda_conv_small &p, int out, int k) {
  const int c = k / 9, r = k % 9 / 3, s = k % 3;
  if (k >= patch_length || c >= p.channels) return 0;
  const int64_t i = out * p.w_stride[0] + c * p.w_stride[1] + r * p.w_stride[2] + s * p.w_stride[3];
  return p.w_dtype == PD_F16 ? load(static_cast<const __half *>(p.w) + i) : load(static_cast<const float *>(p.w) + i);
}

} // namespace pd
#endif
