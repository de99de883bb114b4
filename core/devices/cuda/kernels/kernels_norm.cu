/* LayerNorm over rows, alone or with one round of TinyOpsBlock's elementwise part in front of it. One warp per row.
 * Rows of up to 256 stay in registers (E = 8); longer ones (E = 0) are read again for each pass. */
#include "kernels.cuh"

namespace pd {

constexpr int norm_warps = 8;

/* h = x + 0.01 tanh x; g = h sigmoid h */
__device__ inline float tiny_value(float x) {
  const float h = fmaf(0.01f, tanhf(x), x);
  return h / (1.0f + expf(-h));
}
__device__ inline float tiny_slope(float x) {
  const float t = tanhf(x), h = fmaf(0.01f, t, x), s = 1.0f / (1.0f + expf(-h));
  return s * (1.0f + h * (1.0f - s)) * (1.0f + 0.01f * (1.0f - t * t));
}
template <bool Tiny> __device__ inline float value_of(float x) { return Tiny ? tiny_value(x) : x; }
template <bool Tiny> __device__ inline float slope_of(float x) { return Tiny ? tiny_slope(x) : 1.0f; }

template <typename X, typename Y, bool Tiny, int E>
__global__ void __launch_bounds__(32 * norm_warps) layer_norm(cuda_norm n) {
  const int lane = threadIdx.x % 32;
  const int64_t columns = n.columns;
  for (int64_t row = blockIdx.x * (int64_t)norm_warps + threadIdx.x / 32; row < n.rows;
       row += (int64_t)gridDim.x * norm_warps) {
    const X *x = static_cast<const X *>(n.x) + row * columns;
    Y *y = static_cast<Y *>(n.out) + row * columns;
    float v[E ? E : 1], sum = 0, square = 0;
    if constexpr (E > 0) {
#pragma unroll
      for (int e = 0; e < E; e++) {
        const int c = lane + 32 * e;
        v[e] = c < columns ? value_of<Tiny>(load(x + c)) : 0.0f;
        sum += v[e];
      }
    } else {
      for (int64_t c = lane; c < columns; c += 32) sum += value_of<Tiny>(load(x + c));
    }
    const float mean = warp_sum(sum) / (float)columns;
    if constexpr (E > 0) {
#pragma unroll
      for (int e = 0; e < E; e++) {
        const float d = lane + 32 * e < columns ? v[e] - mean : 0.0f;
        square = fmaf(d, d, square);
      }
    } else {
      for (int64_t c = lane; c < columns; c += 32) {
        const float d = value_of<Tiny>(load(x + c)) - mean;
        square = fmaf(d, d, square);
      }
    }
    const float rstd = rsqrtf(warp_sum(square) / (float)columns + n.eps);
    if (lane == 0) {
      n.mean[row] = mean;
      n.rstd[row] = rstd;
    }
    if constexpr (E > 0) {
#pragma unroll
      for (int e = 0; e < E; e++) {
        const int c = lane + 32 * e;
        if (c < columns) store(y + c, fmaf((v[e] - mean) * rstd, n.gamma[c], n.beta[c]));
      }
    } else {
      for (int64_t c = lane; c < columns; c += 32)
        store(y + c, fmaf((value_of<Tiny>(load(x + c)) - mean) * rstd, n.gamma[c], n.beta[c]));
    }
  }
}

/* dgamma and dbeta in a fixed order: over a warp's rows, over the block's warps, by the last block over the blocks. For
 * E = 0 layer_norm_parameters() does them. */
template <typename X, typename Y, bool Tiny, int E>
__global__ void __launch_bounds__(32 * norm_warps)
    layer_norm_backward(cuda_norm n, float *partials, uint32_t *counter) {
  __shared__ float sums[norm_warps][E ? 64 * E : 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t columns = n.columns;
  float dgamma[E ? E : 1] = {}, dbeta[E ? E : 1] = {};
  for (int64_t row = blockIdx.x * (int64_t)norm_warps + warp; row < n.rows; row += (int64_t)gridDim.x * norm_warps) {
    const X *x = static_cast<const X *>(n.x) + row * columns;
    const Y *dy = static_cast<const Y *>(n.dy) + row * columns;
    X *dx = static_cast<X *>(n.out) + row * columns;
    const float mean = n.mean[row], rstd = n.rstd[row];
    float along = 0, total = 0;
    if constexpr (E > 0) {
      float in[E], hat[E], a[E];
#pragma unroll
      for (int e = 0; e < E; e++) {
        const int c = lane + 32 * e;
        const bool inside = c < columns;
        in[e] = inside ? load(x + c) : 0.0f;
        const float g = inside ? load(dy + c) : 0.0f;
        hat[e] = inside ? (value_of<Tiny>(in[e]) - mean) * rstd : 0.0f;
        a[e] = inside ? g * n.gamma[c] : 0.0f;
        dgamma[e] = fmaf(g, hat[e], dgamma[e]);
        dbeta[e] += g;
        total += a[e];
        along = fmaf(a[e], hat[e], along);
      }
      total = warp_sum(total) / (float)columns;
      along = warp_sum(along) / (float)columns;
#pragma unroll
      for (int e = 0; e < E; e++) {
        const int c = lane + 32 * e;
        if (c < columns) store(dx + c, rstd * (a[e] - total - hat[e] * along) * slope_of<Tiny>(in[e]));
      }
    } else {
      for (int64_t c = lane; c < columns; c += 32) {
        const float a = load(dy + c) * n.gamma[c], hat = (value_of<Tiny>(load(x + c)) - mean) * rstd;
        total += a;
        along = fmaf(a, hat, along);
      }
      total = warp_sum(total) / (float)columns;
      along = warp_sum(along) / (float)columns;
      for (int64_t c = lane; c < columns; c += 32) {
        const float in = load(x + c), a = load(dy + c) * n.gamma[c], hat = (value_of<Tiny>(in) - mean) * rstd;
        store(dx + c, rstd * (a - total - hat * along) * slope_of<Tiny>(in));
      }
    }
  }
  if constexpr (E > 0) {
    const int width = 32 * E;
#pragma unroll
    for (int e = 0; e < E; e++) {
      sums[warp][lane + 32 * e] = dgamma[e];
      sums[warp][width + lane + 32 * e] = dbeta[e];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * width; i += 32 * norm_warps) {
      float total = 0;
#pragma unroll
      for (int w = 0; w < norm_warps; w++) total += sums[w][i];
      partials[blockIdx.x * 2 * width + i] = total;
    }
    if (!last_block(counter, gridDim.x)) return;
    for (int i = threadIdx.x; i < 2 * width; i += 32 * norm_warps) {
      const int c = i % width;
      if (c >= columns) continue;
      float total = 0;
#pragma unroll 8
      for (int b = 0; b < gridDim.x; b++) total += __ldcg(partials + b * 2 * width + i);
      float *to = i < width ? n.dgamma + c : n.dbeta + c;
      *to = n.accumulate ? *to + total : total;
    }
  }
}

template <typename X, typename Y, bool Tiny> __global__ void __launch_bounds__(32) layer_norm_parameters(cuda_norm n) {
  const int64_t c = blockIdx.x * (int64_t)32 + threadIdx.x;
  if (c >= n.columns) return;
  float dgamma = 0, dbeta = 0;
  for (int64_t row = 0; row < n.rows; row++) {
    const float g = load(static_cast<const Y *>(n.dy) + row * n.columns + c);
    const float v = value_of<Tiny>(load(static_cast<const X *>(n.x) + row * n.columns + c));
    dgamma = fmaf(g, (v - n.mean[row]) * n.rstd[row], dgamma);
    dbeta += g;
  }
  n.dgamma[c] = n.accumulate ? n.dgamma[c] + dgamma : dgamma;
  n.dbeta[c] = n.accumulate ? n.dbeta[c] + dbeta : dbeta;
}

template <typename F> cudaError_t with_norm(const cuda_norm *norm, F f) {
  return with_type(norm->x_dtype, [&](auto *tx) {
    return with_type(norm->y_dtype,
                     [&](auto *ty) { return norm->tiny ? f(tx, ty, std::true_type()) : f(tx, ty, std::false_type()); });
  });
}

} // namespace pd

using namespace pd;

cudaError_t cuda_norm_forward(const cuda_launch *at, const cuda_norm *norm) {
  return with_norm(norm, [&](auto *tx, auto *ty, auto tiny) {
    using X = PD_POINTEE(tx);
    using Y = PD_POINTEE(ty);
    const uint32_t blocks = blocks_for(norm->rows, norm_warps, (int64_t)at->sm_count * 8);
    if (norm->columns <= 256)
      layer_norm<X, Y, decltype(tiny)::value, 8><<<blocks, 32 * norm_warps, 0, at->stream>>>(*norm);
    else
      layer_norm<X, Y, decltype(tiny)::value, 0><<<blocks, 32 * norm_warps, 0, at->stream>>>(*norm);
    return cudaGetLastError();
  });
}

cudaError_t cuda_norm_backward(const cuda_launch *at, const cuda_norm *norm) {
  return with_norm(norm, [&](auto *tx, auto *ty, auto tiny) {
    using X = PD_POINTEE(tx);
    using Y = PD_POINTEE(ty);
    constexpr bool T = decltype(tiny)::value;
    if (norm->columns <= 256) {
      const uint32_t blocks = blocks_for(norm->rows, norm_warps, at->sm_count);
      layer_norm_backward<X, Y, T, 8><<<blocks, 32 * norm_warps, 0, at->stream>>>(*norm, at->partials, at->counters);
      return cudaGetLastError();
    }
    /* First the parameters' gradients: dx may be the memory of dy. */
    layer_norm_parameters<X, Y, T><<<(uint32_t)((norm->columns + 31) / 32), 32, 0, at->stream>>>(*norm);
    const uint32_t blocks = blocks_for(norm->rows, norm_warps, (int64_t)at->sm_count * 8);
    layer_norm_backward<X, Y, T, 0><<<blocks, 32 * norm_warps, 0, at->stream>>>(*norm, at->partials, at->counters);
    return cudaGetLastError();
  });
}
