/* Fill, elementwise operations, mean of a tensor, sums of rows, column copies. */
#include "kernels.cuh"

#include <type_traits>

namespace pd {

template <typename T> __global__ void fill(T *y, int64_t count, T value) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
    y[i] = value;
}

struct add {
  static __device__ float of(float a, float b, float alpha) { return fmaf(alpha, b, a); }
};
struct mul {
  static __device__ float of(float a, float b, float) { return a * b; }
};
struct scale {
  static __device__ float of(float a, float, float alpha) { return alpha * a; }
};
/* A NaN stays a NaN, as max(x, 0) of the framework does it. */
struct relu {
  static __device__ float of(float a, float, float) { return a < 0 ? 0.0f : a; }
};
struct tanh_op {
  static __device__ float of(float a, float, float) { return tanhf(a); }
};
struct sigmoid {
  static __device__ float of(float a, float, float) { return 1.0f / (1.0f + expf(-a)); }
};
struct relu_backward {
  static __device__ float of(float a, float b, float) { return b > 0 ? a : 0.0f; }
};
struct tanh_backward {
  static __device__ float of(float a, float b, float) { return a * (1.0f - b * b); }
};
struct sigmoid_backward {
  static __device__ float of(float a, float b, float) { return a * b * (1.0f - b); }
};

/* B: 0 no second operand, 1 a tensor, 2 one element of type S. */
template <typename Op, typename T, int B, typename S, int N>
__global__ void __launch_bounds__(256) elementwise(T *y, const T *a, const S *b, int64_t count, float alpha) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  float one = 0;
  if constexpr (B == 2) one = load(b);
  for (int64_t i = first; i < count / N; i += step) {
    float va[N], vb[N];
    load_n<T, N>(va, a + i * N);
    if constexpr (B == 1) load_n<S, N>(vb, b + i * N);
#pragma unroll
    for (int j = 0; j < N; j++) va[j] = Op::of(va[j], B == 1 ? vb[j] : one, alpha);
    store_n<T, N>(y + i * N, va);
  }
  for (int64_t i = count / N * N + first; i < count; i += step) {
    float vb = one;
    if constexpr (B == 1) vb = load(b + i);
    store(y + i, Op::of(load(a + i), vb, alpha));
  }
}

template <typename Op, int B, typename T, typename S>
cudaError_t elementwise_launch(const cuda_launch *at, T *y, const T *a, const S *b, int64_t count, float alpha) {
  constexpr int N = pack<T>::width;
  const bool wide = aligned(y) && aligned(a) && (B != 1 || aligned(b));
  const uint32_t blocks = blocks_for(count, wide ? 256 * N : 256, (int64_t)at->sm_count * 16);
  if (wide)
    elementwise<Op, T, B, S, N><<<blocks, 256, 0, at->stream>>>(y, a, b, count, alpha);
  else
    elementwise<Op, T, B, S, 1><<<blocks, 256, 0, at->stream>>>(y, a, b, count, alpha);
  return cudaGetLastError();
}

template <typename T>
cudaError_t elementwise_of(const cuda_launch *at, pd_elementwise op, T *y, const T *a, const void *b, pd_dtype b_dtype,
                           bool b_scalar, int64_t count, float alpha) {
  const T *tensor = static_cast<const T *>(b);
  switch (op) {
  case PD_EW_ADD:
    if (!b_scalar) return elementwise_launch<add, 1>(at, y, a, tensor, count, alpha);
    if (b_dtype == PD_F32) return elementwise_launch<add, 2>(at, y, a, static_cast<const float *>(b), count, alpha);
    if (b_dtype == PD_F16) return elementwise_launch<add, 2>(at, y, a, static_cast<const __half *>(b), count, alpha);
    return elementwise_launch<add, 2>(at, y, a, static_cast<const __nv_bfloat16 *>(b), count, alpha);
  case PD_EW_MUL: return elementwise_launch<mul, 1>(at, y, a, tensor, count, alpha);
  case PD_EW_SCALE: return elementwise_launch<scale, 0>(at, y, a, tensor, count, alpha);
  case PD_EW_RELU: return elementwise_launch<relu, 0>(at, y, a, tensor, count, alpha);
  case PD_EW_TANH: return elementwise_launch<tanh_op, 0>(at, y, a, tensor, count, alpha);
  case PD_EW_SIGMOID: return elementwise_launch<sigmoid, 0>(at, y, a, tensor, count, alpha);
  case PD_EW_RELU_BACKWARD: return elementwise_launch<relu_backward, 1>(at, y, a, tensor, count, alpha);
  case PD_EW_TANH_BACKWARD: return elementwise_launch<tanh_backward, 1>(at, y, a, tensor, count, alpha);
  case PD_EW_SIGMOID_BACKWARD: return elementwise_launch<sigmoid_backward, 1>(at, y, a, tensor, count, alpha);
  default: return cudaErrorInvalidValue;
  }
}

/* Sums in a fixed order: per thread, per block, then by the last block over the blocks. */
template <typename T, int N>
__global__ void __launch_bounds__(512) mean(float *y, const T *x, int64_t count, float *partials, uint32_t *counter) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x, packs = count / N;
  const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  float sum = 0;
  int64_t i = first;
  for (; i + 3 * step < packs; i += 4 * step) {
    float v[4][N];
#pragma unroll
    for (int k = 0; k < 4; k++) load_n<T, N>(v[k], x + (i + k * step) * N);
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int j = 0; j < N; j++) sum += v[k][j];
  }
  for (; i < packs; i += step) {
    float v[N];
    load_n<T, N>(v, x + i * N);
#pragma unroll
    for (int j = 0; j < N; j++) sum += v[j];
  }
  for (i = packs * N + first; i < count; i += step) sum += load(x + i);
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  if (!last_block(counter, gridDim.x)) return;
  sum = 0;
  for (uint32_t k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += __ldcg(partials + k);
  sum = block_sum(sum);
  if (threadIdx.x == 0) *y = (float)((double)sum / (double)count);
}

/* G lanes of a warp add up one row, 32 / G rows a warp at a time. */
template <int G, int N>
__global__ void __launch_bounds__(256) sum_rows(float *y, const float *x, int64_t rows, int64_t columns) {
  constexpr int together = 32 / G;
  const int lane = threadIdx.x % 32, part = lane % G;
  const int64_t warps = (int64_t)gridDim.x * blockDim.x / 32;
  for (int64_t first = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32 * together; first < rows;
       first += warps * together) {
    const int64_t row = first + lane / G;
    float sum = 0;
    if (row < rows) {
      const float *from = x + row * columns;
#pragma unroll 4
      for (int64_t i = part * N; i < columns; i += G * N) {
        float v[N];
        load_n<float, N>(v, from + i);
#pragma unroll
        for (int j = 0; j < N; j++) sum += v[j];
      }
    }
#pragma unroll
    for (int mask = G / 2; mask; mask >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (part == 0 && row < rows) y[row] = sum;
  }
}

template <int G, int N>
cudaError_t sum_rows_launch(const cuda_launch *at, float *y, const float *x, int64_t rows, int64_t columns) {
  const uint32_t blocks = blocks_for(rows, 256 / G, (int64_t)at->sm_count * 32);
  sum_rows<G, N><<<blocks, 256, 0, at->stream>>>(y, x, rows, columns);
  return cudaGetLastError();
}

/* As many lanes as a row has packs of N, so that none is idle in short rows. */
template <int N>
cudaError_t sum_rows_of(const cuda_launch *at, float *y, const float *x, int64_t rows, int64_t columns) {
  const int64_t packs = columns / N;
  if (packs <= 1) return sum_rows_launch<1, N>(at, y, x, rows, columns);
  if (packs <= 4) return sum_rows_launch<4, N>(at, y, x, rows, columns);
  if (packs <= 8) return sum_rows_launch<8, N>(at, y, x, rows, columns);
  if (packs <= 16) return sum_rows_launch<16, N>(at, y, x, rows, columns);
  return sum_rows_launch<32, N>(at, y, x, rows, columns);
}

template <typename Y, typename X>
__global__ void copy_columns(Y *y, int64_t y_stride, const X *x, int64_t x_stride, int64_t rows, int64_t columns) {
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
    for (int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; c < columns; c += (int64_t)gridDim.x * blockDim.x)
      store(y + row * y_stride + c, load(x + row * x_stride + c));
}

template <typename T> cudaError_t fill_launch(const cuda_launch *at, void *y, int64_t count, T value) {
  fill<T>
      <<<blocks_for(count, 1024, (int64_t)at->sm_count * 16), 256, 0, at->stream>>>(static_cast<T *>(y), count, value);
  return cudaGetLastError();
}

} // namespace pd

using namespace pd;

cudaError_t cuda_fill(const cuda_launch *at, void *y, pd_dtype dtype, int64_t count, double value) {
  switch (dtype) {
  case PD_F32: return fill_launch(at, y, count, (float)value);
  case PD_F16: return fill_launch(at, y, count, __float2half_rn((float)value));
  case PD_BF16: return fill_launch(at, y, count, __float2bfloat16_rn((float)value));
  case PD_I64: return fill_launch(at, y, count, (int64_t)value);
  case PD_I32: return fill_launch(at, y, count, (int32_t)value);
  case PD_U8: return fill_launch(at, y, count, (uint8_t)value);
  default: return cudaErrorInvalidValue;
  }
}

cudaError_t cuda_elementwise(const cuda_launch *at, pd_elementwise op, pd_dtype dtype, void *y, const void *a,
                             const void *b, pd_dtype b_dtype, bool b_scalar, int64_t count, float alpha) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    return elementwise_of<T>(at, op, static_cast<T *>(y), static_cast<const T *>(a), b, b_dtype, b_scalar, count,
                             alpha);
  });
}

cudaError_t cuda_mean(const cuda_launch *at, float *y, pd_dtype dtype, const void *x, int64_t count) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    constexpr int N = pack<T>::width;
    const T *in = static_cast<const T *>(x);
    const uint32_t blocks = blocks_for(count, 512 * N * 4, (int64_t)at->sm_count * 4);
    if (aligned(x))
      mean<T, N><<<blocks, 512, 0, at->stream>>>(y, in, count, at->partials, at->counters);
    else
      mean<T, 1><<<blocks, 512, 0, at->stream>>>(y, in, count, at->partials, at->counters);
    return cudaGetLastError();
  });
}

cudaError_t cuda_sum_rows(const cuda_launch *at, float *y, const float *x, int64_t rows, int64_t columns) {
  if (aligned(x) && columns % 4 == 0) return sum_rows_of<4>(at, y, x, rows, columns);
  return sum_rows_of<1>(at, y, x, rows, columns);
}

cudaError_t cuda_copy_columns(const cuda_launch *at, void *y, pd_dtype y_dtype, int64_t y_stride, const void *x,
                              pd_dtype x_dtype, int64_t x_stride, int64_t rows, int64_t columns) {
  return with_type(y_dtype, [&](auto *ty) {
    using Y = PD_POINTEE(ty);
    return with_type(x_dtype, [&](auto *tx) {
      using X = PD_POINTEE(tx);
      const dim3 grid(blocks_for(columns, 256, 64), (uint32_t)(rows < 4096 ? rows : 4096));
      copy_columns<<<grid, 256, 0, at->stream>>>(static_cast<Y *>(y), y_stride, static_cast<const X *>(x), x_stride,
                                                 rows, columns);
      return cudaGetLastError();
    });
  });
}
