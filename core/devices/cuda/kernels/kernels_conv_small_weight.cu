/* Weight and bias gradients of a 3x3 convolution of at most three input channels, ReLU's mask applied on the way. */
#include "kernels_conv_small.cuh"

namespace pd {

constexpr int weight_threads = 256, results = group_channels * patch_width;

__device__ inline void matrices(uint32_t (&r)[4], const __half *row) {
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}
__device__ inline void matrices_transposed(uint32_t (&r)[4], const __half *row) {
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}

/*
 * dw (64 x 32) = dy (pixels x 64) transposed times patches (pixels x 32). A block walks over tiles of pixels; each warp
 * takes two tensor-core depths of a tile and keeps half of the 64 x 32 result in registers. At the end the warps'
 * results are added in order, and conv_small_reduce() adds the blocks'.
 */
template <typename X, typename Y, bool Nhwc, bool Exact>
__global__ void __launch_bounds__(weight_threads, 2)
    conv_small_weight(const __grid_constant__ cuda_conv_small p, float *partials) {
  constexpr int tile = 256 / sizeof(Y), depth = tile / 8, width = pack<Y>::width;
  constexpr int dy_stride = Nhwc ? group_channels + 8 : tile + 16 / sizeof(Y), patch_stride = patch_width + 8;
  constexpr int vectors = tile * group_channels / width / weight_threads;
  constexpr int dy_size = Nhwc ? tile * dy_stride : group_channels * dy_stride;
  constexpr int share = tile * patch_width / weight_threads; /* numbers of a patch that one thread reads */
  __shared__ alignas(16) Y dys[dy_size];
  __shared__ alignas(16) Y patches[tile * patch_stride];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, g = lane / 4, t = lane % 4;
  const int first_channel = blockIdx.y * group_channels;
  const uint32_t plane = (uint32_t)p.out_height * (uint32_t)p.out_width, total = (uint32_t)p.images * plane;
  const Y *dy = static_cast<const Y *>(p.y), *mask = static_cast<const Y *>(p.mask);
  float c[2][4][4] = {};

  /* The next tile is read before this one's products, and written to shared memory after them. */
  raw<Y, width> v[vectors], m[vectors];
  fragment<X, share> next;
  auto fetch = [&](uint32_t first) {
    const uint32_t q = first + (Nhwc ? 0 : thread % (tile / width) * width);
    const uint32_t image = Nhwc ? 0 : q / plane, rest = Nhwc ? 0 : q % plane;
#pragma unroll
    for (int i = 0; i < vectors; i++) {
      v[i] = m[i] = raw<Y, width>();
      if constexpr (Nhwc) {
        const int index = i * weight_threads + thread, px = index / (group_channels / width);
        const int64_t from =
            (int64_t)(first + px) * p.out_channels + first_channel + index % (group_channels / width) * width;
        if (first + px >= total) continue;
        v[i] = load_raw<Y, width>(dy + from);
        if (mask) m[i] = load_raw<Y, width>(mask + from);
      } else {
        const int64_t channel = first_channel + i * (weight_threads / (tile / width)) + thread / (tile / width);
        const int64_t from = (image * (int64_t)p.out_channels + channel) * plane + rest;
        if (q >= total) continue;
        if (plane % width == 0) {
          v[i] = load_raw<Y, width>(dy + from);
          if (mask) m[i] = load_raw<Y, width>(mask + from);
        } else {
          /* A pack may end in the next image, whose pixels lie after the other channels of this one. */
          for (uint32_t k = 0; k < width && q + k < total; k++) {
            const int64_t skip = rest + k < plane ? 0 : (p.out_channels - 1) * (int64_t)plane * ((rest + k) / plane);
            v[i].v[k] = dy[from + k + skip];
            if (mask) m[i].v[k] = mask[from + k + skip];
          }
        }
      }
    }
    const pixel where = pixel_of(p, first + thread % tile, total);
    if constexpr (share == 16) {
      if (thread < tile)
        gather<0>(next, p, where);
      else
        gather<16>(next, p, where);
    } else {
      if (thread < tile)
        gather<0>(next, p, where);
      else if (thread < 2 * tile)
        gather<8>(next, p, where);
      else if (thread < 3 * tile)
        gather<16>(next, p, where);
      else
        gather<24>(next, p, where);
    }
  };
  auto stow = [&]() {
    Y *to = patches + thread % tile * patch_stride;
    if constexpr (share == 16) {
      if (thread < tile)
        put_all<0, share, Exact>(to, next, true);
      else
        put_all<16, share, Exact>(to, next, true);
    } else {
      if (thread < tile)
        put_all<0, share, Exact>(to, next, true);
      else if (thread < 2 * tile)
        put_all<8, share, Exact>(to, next, true);
      else if (thread < 3 * tile)
        put_all<16, share, Exact>(to, next, true);
      else
        put_all<24, share, Exact>(to, next, true);
    }
#pragma unroll
    for (int i = 0; i < vectors; i++) {
      const int index = i * weight_threads + thread;
      raw<Y, width> out;
#pragma unroll
      for (int k = 0; k < width; k++) put<Exact>(&out.v[k], mask && !(load(&m[i].v[k]) > 0) ? 0.0f : load(&v[i].v[k]));
      const int row = Nhwc ? index / (group_channels / width) : index / (tile / width);
      const int column = Nhwc ? index % (group_channels / width) * width : index % (tile / width) * width;
      store_raw<Y, width>(dys + row * dy_stride + column, out);
    }
  };
  const uint32_t tiles = (total + tile - 1) / tile;
  fetch(blockIdx.x * tile);
  for (uint32_t at = blockIdx.x; at < tiles; at += gridDim.x) {
    stow();
    __syncthreads();
    if (at + gridDim.x < tiles) fetch((at + gridDim.x) * tile);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int px = (warp % 4 * 2 + half) * depth;
      uint32_t b[4][2];
      if constexpr (sizeof(Y) == 2) {
#pragma unroll
        for (int j = 0; j < 4; j += 2) {
          uint32_t r[4];
          matrices_transposed(r, (const __half *)patches + (px + lane % 16) * patch_stride + (j + lane / 16) * 8);
          b[j][0] = r[0], b[j][1] = r[1], b[j + 1][0] = r[2], b[j + 1][1] = r[3];
        }
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
          for (int i = 0; i < 2; i++)
            b[j][i] = __float_as_uint((float)patches[(px + t + 4 * i) * patch_stride + j * 8 + g]);
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int row = (warp / 4 * 2 + i) * 16;
        uint32_t a[4];
        if constexpr (sizeof(Y) == 2 && Nhwc) {
          matrices_transposed(a, (const __half *)dys + (px + lane / 16 * 8 + lane % 8) * dy_stride + row +
                                     lane % 16 / 8 * 8);
        } else if constexpr (sizeof(Y) == 2) {
          matrices(a, (const __half *)dys + (row + lane % 16) * dy_stride + px + lane / 16 * 8);
        } else {
#pragma unroll
          for (int k = 0; k < 4; k++) {
            const int channel = row + g + k % 2 * 8, q = px + t + k / 2 * 4;
            a[k] = __float_as_uint((float)dys[Nhwc ? q * dy_stride + channel : channel * dy_stride + q]);
          }
        }
#pragma unroll
        for (int j = 0; j < 4; j++) step<Exact, Y>(c[i][j], a, b[j]);
      }
    }
    __syncthreads();
  }

  float *sums = reinterpret_cast<float *>(dys);
  constexpr int sum_stride = patch_width + 4; /* against bank conflicts */
  static_assert(sizeof(dys) >= group_channels * sum_stride * sizeof(float),
                "the warps' results are added in the memory of dy");
  for (int w = 0; w < 4; w++) {
    if (warp % 4 == w) {
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
          for (int k = 0; k < 4; k++) {
            float *sum = sums + ((warp / 4 * 2 + i) * 16 + g + k / 2 * 8) * sum_stride + j * 8 + 2 * t + k % 2;
            *sum = w ? *sum + c[i][j][k] : c[i][j][k];
          }
    }
    __syncthreads();
  }
  for (int i = thread; i < results; i += weight_threads)
    partials[((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * results + i] =
        sums[i / patch_width * sum_stride + i % patch_width];
}

/* Block (x, y): numbers 32x .. 32x+31 of channel group y, which is one row of dw. */
__global__ void __launch_bounds__(256)
    conv_small_reduce(const __grid_constant__ cuda_conv_small p, const float *partials, int blocks) {
  __shared__ float sums[8][32];
  const int k = threadIdx.x % 32, part = threadIdx.x / 32, out = blockIdx.y * group_channels + blockIdx.x;
  float sum = 0;
#pragma unroll 8
  for (int b = part; b < blocks; b += 8)
    sum += partials[((int64_t)blockIdx.y * blocks + b) * results + blockIdx.x * patch_width + k];
  sums[part][k] = sum;
  __syncthreads();
  if (part) return;
  sum = 0;
  for (int i = 0; i < 8; i++) sum += sums[i][k];
  if (k == patch_length && p.db) p.db[out] = sum;
  const int c = k / 9, r = k % 9 / 3, s = k % 3;
  if (k >= patch_length || c >= p.channels) return;
  const int64_t i = out * p.w_stride[0] + c * p.w_stride[1] + r * p.w_stride[2] + s * p.w_stride[3];
  if (p.w_dtype == PD_F16)
    store(static_cast<__half *>(p.dw) + i, sum);
  else
    store(static_cast<float *>(p.dw) + i, sum);
}

template <typename X, typename Y, bool Exact>
cudaError_t conv_small_weight_launch(const cuda_launch *at, const cuda_conv_small *conv) {
  const int64_t pixels = (int64_t)conv->images * conv->out_height * conv->out_width;
  const uint32_t groups = (uint32_t)conv->out_channels / group_channels;
  int64_t most = (int64_t)at->sm_count * 2;
  if (most > CUDA_PARTIALS / results / groups) most = CUDA_PARTIALS / results / groups;
  const uint32_t blocks = blocks_for(pixels, 256 / sizeof(Y), most);
  if (conv->nhwc)
    conv_small_weight<X, Y, true, Exact><<<dim3(blocks, groups), weight_threads, 0, at->stream>>>(*conv, at->partials);
  else
    conv_small_weight<X, Y, false, Exact><<<dim3(blocks, groups), weight_threads, 0, at->stream>>>(*conv, at->partials);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  conv_small_reduce<<<dim3(group_channels, groups), 256, 0, at->stream>>>(*conv, at->partials, (int)blocks);
  return cudaGetLastError();
}

} // namespace pd

cudaError_t cuda_conv_small_weight(const cuda_launch *at, const cuda_conv_small *conv) {
  return pd::with_small_type(conv->x_dtype, [&](auto *tx) {
    using X = PD_POINTEE(tx);
    if (conv->y_dtype == PD_F16) return pd::conv_small_weight_launch<X, __half, false>(at, conv);
    return conv->tf32 ? pd::conv_small_weight_launch<X, float, false>(at, conv)
                      : pd::conv_small_weight_launch<X, float, true>(at, conv);
  });
}
