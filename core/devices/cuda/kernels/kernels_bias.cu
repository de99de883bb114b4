/* Bias and its gradient, with ReLU fused in, and the mean over a plane, in both layouts. `columns`: a matrix (rows,
 * channels), which is NHWC and rank 2. `planes`: (images, channels, plane), which is NCHW. */
#include "kernels.cuh"

namespace pd {

constexpr int column_threads = 256;
/* Rows (or packs) a thread reads before it writes the first: the compiler may not do that by itself, since the output
 * may be the input's memory. */
constexpr int batch = 4;

/* How a block covers a matrix: `across` threads side by side, each over N columns, the others down the rows. Few
 * columns a block leave the last block of a column group little to add up. */
struct column_shape {
  uint32_t across, groups, splits;
};
template <int N>
column_shape shape_columns(const cuda_launch *at, int64_t rows, int64_t channels, int64_t partials,
                           uint32_t most_channels = 64) {
  const int64_t packs = channels / N;
  uint32_t across = 1;
  while (across < 32 && across * N < most_channels && across < packs) across *= 2;
  const uint32_t groups = (uint32_t)((packs + across - 1) / across), down = column_threads / across;
  int64_t splits = (int64_t)at->sm_count * 3 / groups;
  if (splits > (rows + down - 1) / down) splits = (rows + down - 1) / down;
  if (partials && splits > partials / channels) splits = partials / channels;
  return {across, groups, splits < 1 ? 1u : (uint32_t)splits};
}

template <typename T, int N, bool Relu>
__global__ void __launch_bounds__(column_threads)
    bias_columns(T *y, const T *x, const float *bias, int64_t rows, int64_t channels) {
  const int64_t column = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) * N;
  if (column >= channels) return;
  float b[N];
#pragma unroll
  for (int j = 0; j < N; j++) b[j] = bias[column + j];
  const int64_t step = (int64_t)gridDim.y * blockDim.y;
  for (int64_t first = blockIdx.y * (int64_t)blockDim.y + threadIdx.y; first < rows; first += batch * step) {
    raw<T, N> in[batch];
#pragma unroll
    for (int k = 0; k < batch; k++)
      if (first + k * step < rows) in[k] = load_raw<T, N>(x + (first + k * step) * channels + column);
#pragma unroll
    for (int k = 0; k < batch; k++) {
      if (first + k * step >= rows) break;
      raw<T, N> out;
#pragma unroll
      for (int j = 0; j < N; j++) {
        const float v = load(&in[k].v[j]) + b[j];
        store(&out.v[j], Relu && v < 0 ? 0.0f : v);
      }
      store_raw<T, N>(y + (first + k * step) * channels + column, out);
    }
  }
}

/* Where the gradient of a bias comes from: dy as it is; dy where y > 0, which is written to dx; or, of the mean over a
 * plane, dy (images, channels) over the plane's size where y > 0. */
enum source { as_is, masked, masked_mean };

/* Column sums in a fixed order: down the rows in a thread, over the block's threads, and by the last block of a column
 * group over the blocks. */
template <typename T, typename G, int N, source From>
__global__ void __launch_bounds__(column_threads)
    bias_columns_backward(T *dx, float *db, const G *dy, const T *y, int64_t rows, int64_t channels, int plane,
                          bool accumulate, float *partials, uint32_t *counters) {
  extern __shared__ float sums[]; /* blockDim.y x (blockDim.x * N) */
  const int width = blockDim.x * N;
  const int64_t column = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) * N;
  const int64_t step = (int64_t)gridDim.y * blockDim.y;
  float sum[N] = {};
  if (column < channels) {
    const float share = 1.0f / (float)plane;
    for (int64_t first = blockIdx.y * (int64_t)blockDim.y + threadIdx.y; first < rows; first += batch * step) {
      raw<G, N> in[batch];
      raw<T, N> mask[batch];
#pragma unroll
      for (int k = 0; k < batch; k++) {
        const int64_t row = first + k * step;
        if (row >= rows) break;
        in[k] = load_raw<G, N>(dy + (From == masked_mean ? (uint32_t)row / (uint32_t)plane : row) * channels + column);
        if (From != as_is) mask[k] = load_raw<T, N>(y + row * channels + column);
      }
#pragma unroll
      for (int k = 0; k < batch; k++) {
        const int64_t row = first + k * step;
        if (row >= rows) break;
        raw<T, N> out;
#pragma unroll
        for (int j = 0; j < N; j++) {
          float v = load(&in[k].v[j]);
          if (From == masked_mean) v *= share;
          if (From != as_is) {
            v = load(&mask[k].v[j]) > 0 ? v : 0.0f;
            store(&out.v[j], v);
          }
          sum[j] += v;
        }
        if (From != as_is) store_raw<T, N>(dx + row * channels + column, out);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < N; j++) sums[threadIdx.y * width + threadIdx.x * N + j] = sum[j];
  __syncthreads();
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, first = blockIdx.x * width;
  const int64_t inside = channels - first < width ? channels - first : width;
  if (thread < inside) {
    float total = 0;
    for (int r = 0; r < blockDim.y; r++) total += sums[r * width + thread];
    if (gridDim.y == 1)
      db[first + thread] = accumulate ? db[first + thread] + total : total;
    else
      partials[blockIdx.y * channels + first + thread] = total;
  }
  if (gridDim.y == 1 || !last_block(counters + blockIdx.x, gridDim.y)) return;
  const int parts = column_threads / width, part = thread / width, c = thread % width;
  float total = 0;
  if (part < parts && c < inside) {
#pragma unroll 8
    for (int s = part; s < gridDim.y; s += parts) total += __ldcg(partials + s * channels + first + c);
  }
  __syncthreads();
  if (part < parts) sums[part * width + c] = total;
  __syncthreads();
  if (thread < inside) {
    total = 0;
    for (int p = 0; p < parts; p++) total += sums[p * width + thread];
    db[first + thread] = accumulate ? db[first + thread] + total : total;
  }
}

template <typename T, int N, bool Relu>
__global__ void __launch_bounds__(256)
    bias_planes(T *y, const T *x, const float *bias, int64_t planes, int64_t channels, int64_t plane) {
  for (int64_t p = blockIdx.y; p < planes; p += gridDim.y) {
    const float b = bias[p % channels];
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < plane / N;
         i += (int64_t)gridDim.x * blockDim.x) {
      float v[N];
      load_n<T, N>(v, x + p * plane + i * N);
#pragma unroll
      for (int j = 0; j < N; j++) {
        v[j] += b;
        if (Relu && v[j] < 0) v[j] = 0;
      }
      store_n<T, N>(y + p * plane + i * N, v);
    }
  }
}

template <typename T, typename G, int N, source From>
__global__ void __launch_bounds__(256)
    bias_planes_backward(T *dx, float *db, const G *dy, const T *y, int64_t images, int64_t channels, int64_t plane,
                         bool accumulate, float *partials, uint32_t *counters) {
  const int64_t channel = blockIdx.x;
  const uint32_t packs = (uint32_t)(plane / N);
  const uint32_t count = (uint32_t)((images - blockIdx.y + gridDim.y - 1) / gridDim.y) * packs;
  float sum = 0;
  for (uint32_t first = threadIdx.x; first < count; first += batch * blockDim.x) {
    raw<T, N> in[batch], mask[batch];
    int64_t at[batch], image[batch];
#pragma unroll
    for (int k = 0; k < batch; k++) {
      const uint32_t i = first + k * blockDim.x;
      if (i >= count) break;
      image[k] = blockIdx.y + (int64_t)(i / packs) * gridDim.y;
      at[k] = (image[k] * channels + channel) * plane + (int64_t)(i % packs) * N;
      if constexpr (From != masked_mean) in[k] = load_raw<T, N>(dy + at[k]);
      if (From != as_is) mask[k] = load_raw<T, N>(y + at[k]);
    }
#pragma unroll
    for (int k = 0; k < batch; k++) {
      if (first + k * blockDim.x >= count) break;
      float share = 0;
      if constexpr (From == masked_mean) share = load(dy + image[k] * channels + channel) / (float)plane;
      raw<T, N> out;
#pragma unroll
      for (int j = 0; j < N; j++) {
        float v = From == masked_mean ? share : load(&in[k].v[j]);
        if (From != as_is) {
          v = load(&mask[k].v[j]) > 0 ? v : 0.0f;
          store(&out.v[j], v);
        }
        sum += v;
      }
      if (From != as_is) store_raw<T, N>(dx + at[k], out);
    }
  }
  sum = block_sum(sum);
  if (gridDim.y > 1) {
    if (threadIdx.x == 0) partials[blockIdx.y * channels + channel] = sum;
    if (!last_block(counters + channel, gridDim.y)) return;
    sum = 0;
    for (uint32_t s = threadIdx.x; s < gridDim.y; s += blockDim.x) sum += __ldcg(partials + s * channels + channel);
    sum = block_sum(sum);
  }
  if (threadIdx.x == 0) db[channel] = accumulate ? db[channel] + sum : sum;
}

/* One warp per plane. */
template <typename Y, typename X, int N>
__global__ void __launch_bounds__(256) mean_planes(Y *y, const X *x, int64_t planes, int64_t plane) {
  const int64_t warps = (int64_t)gridDim.x * 8;
  for (int64_t p = blockIdx.x * (int64_t)8 + threadIdx.x / 32; p < planes; p += warps) {
    float sum = 0;
#pragma unroll 4
    for (int64_t i = threadIdx.x % 32; i < plane / N; i += 32) {
      float v[N];
      load_n<X, N>(v, x + p * plane + i * N);
#pragma unroll
      for (int j = 0; j < N; j++) sum += v[j];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) store(y + p, sum / (float)plane);
  }
}

/* One block per image and column group, as far as the grid goes. */
template <typename Y, typename X, int N>
__global__ void __launch_bounds__(column_threads)
    mean_columns(Y *y, const X *x, int64_t images, int64_t plane, int64_t channels) {
  extern __shared__ float sums[];
  const int width = blockDim.x * N, thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int64_t column = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) * N, first = blockIdx.x * (int64_t)width;
  for (int64_t image = blockIdx.y; image < images; image += gridDim.y) {
    const X *from = x + image * plane * channels;
    float sum[N] = {};
    if (column < channels) {
#pragma unroll 4
      for (int64_t row = threadIdx.y; row < plane; row += blockDim.y) {
        float v[N];
        load_n<X, N>(v, from + row * channels + column);
#pragma unroll
        for (int j = 0; j < N; j++) sum[j] += v[j];
      }
    }
#pragma unroll
    for (int j = 0; j < N; j++) sums[threadIdx.y * width + threadIdx.x * N + j] = sum[j];
    __syncthreads();
    if (thread < width && first + thread < channels) {
      float total = 0;
      for (int r = 0; r < blockDim.y; r++) total += sums[r * width + thread];
      store(y + image * channels + first + thread, total / (float)plane);
    }
    if (image + gridDim.y < images) __syncthreads(); /* the sums are read before the next image's come */
  }
}

template <typename X, typename Y, int N>
__global__ void __launch_bounds__(256) mean_planes_backward(X *dx, const Y *dy, int64_t planes, int64_t plane) {
  for (int64_t p = blockIdx.y; p < planes; p += gridDim.y) {
    const float value = load(dy + p) / (float)plane;
    float v[N];
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = value;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < plane / N;
         i += (int64_t)gridDim.x * blockDim.x)
      store_n<X, N>(dx + p * plane + i * N, v);
  }
}

template <typename X, typename Y, int N>
__global__ void __launch_bounds__(column_threads)
    mean_columns_backward(X *dx, const Y *dy, int64_t images, int64_t plane, int64_t channels) {
  const int64_t column = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) * N;
  if (column >= channels) return;
  const int64_t step = (int64_t)gridDim.z * blockDim.y;
  for (int64_t image = blockIdx.y; image < images; image += gridDim.y) {
    X *to = dx + image * plane * channels;
    float v[N];
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = load(dy + image * channels + column + j) / (float)plane;
    for (int64_t row = blockIdx.z * (int64_t)blockDim.y + threadIdx.y; row < plane; row += step)
      store_n<X, N>(to + row * channels + column, v);
  }
}

template <typename T, int N, bool Relu>
cudaError_t bias_columns_launch(const cuda_launch *at, T *y, const T *x, const float *bias, int64_t rows,
                                int64_t channels) {
  const column_shape s = shape_columns<N>(at, rows, channels, 0);
  const dim3 block(s.across, column_threads / s.across);
  bias_columns<T, N, Relu><<<dim3(s.groups, s.splits), block, 0, at->stream>>>(y, x, bias, rows, channels);
  return cudaGetLastError();
}

template <typename T, typename G, int N, source From>
cudaError_t columns_backward_launch(const cuda_launch *at, T *dx, float *db, const G *dy, const T *y, int64_t rows,
                                    int64_t channels, int64_t plane, bool accumulate) {
  column_shape s = shape_columns<N>(at, rows, channels, CUDA_PARTIALS);
  if (s.groups > CUDA_COUNTERS) s.splits = 1;
  const dim3 block(s.across, column_threads / s.across);
  bias_columns_backward<T, G, N, From>
      <<<dim3(s.groups, s.splits), block, column_threads * N * sizeof(float), at->stream>>>(
          dx, db, dy, y, rows, channels, (int)plane, accumulate, at->partials, at->counters);
  return cudaGetLastError();
}

template <typename T, typename G, int N, source From>
cudaError_t planes_backward_launch(const cuda_launch *at, T *dx, float *db, const G *dy, const T *y, int64_t images,
                                   int64_t channels, int64_t plane, bool accumulate) {
  int64_t splits = ((int64_t)at->sm_count * 8 + channels - 1) / channels;
  if (splits > images) splits = images;
  if (channels > CUDA_COUNTERS || splits * channels > CUDA_PARTIALS) splits = 1;
  bias_planes_backward<T, G, N, From><<<dim3((uint32_t)channels, (uint32_t)splits), 256, 0, at->stream>>>(
      dx, db, dy, y, images, channels, plane, accumulate, at->partials, at->counters);
  return cudaGetLastError();
}

/* Whether packs of T never straddle two rows (or planes) of `length`. */
template <typename T> bool packs_fit(int64_t length, const void *p, const void *q, const void *r = nullptr) {
  return length % pack<T>::width == 0 && aligned(p) && aligned(q) && aligned(r);
}
/* As many blocks as a grid takes beside its first dimension; the kernels walk on from there. */
inline uint32_t across_grid(int64_t count) { return (uint32_t)(count < 65535 ? count : 65535); }
inline dim3 plane_grid(int64_t planes, int64_t plane) { return dim3(blocks_for(plane, 2048, 64), across_grid(planes)); }

} // namespace pd

using namespace pd;

cudaError_t cuda_bias_columns(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, const float *bias,
                              int64_t rows, int64_t channels, bool relu) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    constexpr int N = pack<T>::width;
    T *out = static_cast<T *>(y);
    const T *in = static_cast<const T *>(x);
    if (packs_fit<T>(channels, y, x))
      return relu ? bias_columns_launch<T, N, true>(at, out, in, bias, rows, channels)
                  : bias_columns_launch<T, N, false>(at, out, in, bias, rows, channels);
    return relu ? bias_columns_launch<T, 1, true>(at, out, in, bias, rows, channels)
                : bias_columns_launch<T, 1, false>(at, out, in, bias, rows, channels);
  });
}

cudaError_t cuda_bias_planes(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, const float *bias,
                             int64_t images, int64_t channels, int64_t plane, bool relu) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    constexpr int N = pack<T>::width;
    T *out = static_cast<T *>(y);
    const T *in = static_cast<const T *>(x);
    const int64_t planes = images * channels;
    const dim3 grid = plane_grid(planes, plane);
    const bool wide = packs_fit<T>(plane, y, x);
    if (wide && relu)
      bias_planes<T, N, true><<<grid, 256, 0, at->stream>>>(out, in, bias, planes, channels, plane);
    else if (wide)
      bias_planes<T, N, false><<<grid, 256, 0, at->stream>>>(out, in, bias, planes, channels, plane);
    else if (relu)
      bias_planes<T, 1, true><<<grid, 256, 0, at->stream>>>(out, in, bias, planes, channels, plane);
    else
      bias_planes<T, 1, false><<<grid, 256, 0, at->stream>>>(out, in, bias, planes, channels, plane);
    return cudaGetLastError();
  });
}

cudaError_t cuda_bias_columns_backward(const cuda_launch *at, pd_dtype dtype, void *dx, float *db, const void *dy,
                                       const void *y, int64_t rows, int64_t channels, bool accumulate) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    constexpr int N = pack<T>::width;
    T *out = static_cast<T *>(dx);
    const T *in = static_cast<const T *>(dy), *mask = static_cast<const T *>(y);
    const bool wide = packs_fit<T>(channels, dx, dy, y);
    if (wide && mask)
      return columns_backward_launch<T, T, N, masked>(at, out, db, in, mask, rows, channels, 1, accumulate);
    if (wide) return columns_backward_launch<T, T, N, as_is>(at, out, db, in, mask, rows, channels, 1, accumulate);
    if (mask) return columns_backward_launch<T, T, 1, masked>(at, out, db, in, mask, rows, channels, 1, accumulate);
    return columns_backward_launch<T, T, 1, as_is>(at, out, db, in, mask, rows, channels, 1, accumulate);
  });
}

cudaError_t cuda_bias_planes_backward(const cuda_launch *at, pd_dtype dtype, void *dx, float *db, const void *dy,
                                      const void *y, int64_t images, int64_t channels, int64_t plane, bool accumulate) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    constexpr int N = pack<T>::width;
    T *out = static_cast<T *>(dx);
    const T *in = static_cast<const T *>(dy), *mask = static_cast<const T *>(y);
    const bool wide = packs_fit<T>(plane, dx, dy, y);
    if (wide && mask)
      return planes_backward_launch<T, T, N, masked>(at, out, db, in, mask, images, channels, plane, accumulate);
    if (wide) return planes_backward_launch<T, T, N, as_is>(at, out, db, in, mask, images, channels, plane, accumulate);
    if (mask)
      return planes_backward_launch<T, T, 1, masked>(at, out, db, in, mask, images, channels, plane, accumulate);
    return planes_backward_launch<T, T, 1, as_is>(at, out, db, in, mask, images, channels, plane, accumulate);
  });
}

cudaError_t cuda_mean_hw_relu_backward(const cuda_launch *at, pd_dtype dtype, void *dx, float *db, const void *dy,
                                       pd_dtype dy_dtype, const void *y, int64_t images, int64_t channels,
                                       int64_t plane, bool nhwc) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    return with_type(dy_dtype, [&](auto *tg) {
      using G = PD_POINTEE(tg);
      constexpr int N = pack<T>::width;
      T *out = static_cast<T *>(dx);
      const G *in = static_cast<const G *>(dy);
      const T *mask = static_cast<const T *>(y);
      const int64_t rows = images * plane;
      const bool wide = packs_fit<T>(nhwc ? channels : plane, dx, y, nhwc ? dy : NULL);
      if (nhwc && wide)
        return columns_backward_launch<T, G, N, masked_mean>(at, out, db, in, mask, rows, channels, plane, false);
      if (nhwc)
        return columns_backward_launch<T, G, 1, masked_mean>(at, out, db, in, mask, rows, channels, plane, false);
      if (wide)
        return planes_backward_launch<T, G, N, masked_mean>(at, out, db, in, mask, images, channels, plane, false);
      return planes_backward_launch<T, G, 1, masked_mean>(at, out, db, in, mask, images, channels, plane, false);
    });
  });
}

template <typename Y, typename X, int N>
static cudaError_t mean_columns_launch(const cuda_launch *at, Y *y, const X *x, int64_t images, int64_t channels,
                                       int64_t plane) {
  /* Narrow, so that a few images make enough blocks. */
  const column_shape s = shape_columns<N>(at, plane, channels, 0, 32);
  mean_columns<Y, X, N><<<dim3(s.groups, across_grid(images)), dim3(s.across, column_threads / s.across),
                          column_threads * N * sizeof(float), at->stream>>>(y, x, images, plane, channels);
  return cudaGetLastError();
}

template <typename X, typename Y, int N>
static cudaError_t mean_columns_backward_launch(const cuda_launch *at, X *dx, const Y *dy, int64_t images,
                                                int64_t channels, int64_t plane) {
  const column_shape s = shape_columns<N>(at, plane, channels, 0);
  const uint32_t down = column_threads / s.across;
  const dim3 grid(s.groups, across_grid(images), blocks_for(plane, down * 8, 64));
  mean_columns_backward<X, Y, N><<<grid, dim3(s.across, down), 0, at->stream>>>(dx, dy, images, plane, channels);
  return cudaGetLastError();
}

cudaError_t cuda_mean_hw(const cuda_launch *at, void *y, pd_dtype y_dtype, const void *x, pd_dtype x_dtype,
                         int64_t images, int64_t channels, int64_t plane, bool nhwc) {
  return with_type(y_dtype, [&](auto *ty) {
    using Y = PD_POINTEE(ty);
    return with_type(x_dtype, [&](auto *tx) {
      using X = PD_POINTEE(tx);
      constexpr int N = pack<X>::width;
      Y *out = static_cast<Y *>(y);
      const X *in = static_cast<const X *>(x);
      if (nhwc)
        return packs_fit<X>(channels, x, x) ? mean_columns_launch<Y, X, N>(at, out, in, images, channels, plane)
                                            : mean_columns_launch<Y, X, 1>(at, out, in, images, channels, plane);
      const int64_t planes = images * channels;
      const uint32_t blocks = blocks_for(planes, 8, 65535);
      if (packs_fit<X>(plane, x, x))
        mean_planes<Y, X, N><<<blocks, 256, 0, at->stream>>>(out, in, planes, plane);
      else
        mean_planes<Y, X, 1><<<blocks, 256, 0, at->stream>>>(out, in, planes, plane);
      return cudaGetLastError();
    });
  });
}

cudaError_t cuda_mean_hw_backward(const cuda_launch *at, void *dx, pd_dtype dx_dtype, const void *dy, pd_dtype dy_dtype,
                                  int64_t images, int64_t channels, int64_t plane, bool nhwc) {
  return with_type(dx_dtype, [&](auto *tx) {
    using X = PD_POINTEE(tx);
    return with_type(dy_dtype, [&](auto *ty) {
      using Y = PD_POINTEE(ty);
      constexpr int N = pack<X>::width;
      X *out = static_cast<X *>(dx);
      const Y *in = static_cast<const Y *>(dy);
      if (nhwc)
        return packs_fit<X>(channels, dx, dx)
                   ? mean_columns_backward_launch<X, Y, N>(at, out, in, images, channels, plane)
                   : mean_columns_backward_launch<X, Y, 1>(at, out, in, images, channels, plane);
      const int64_t planes = images * channels;
      const dim3 grid = plane_grid(planes, plane);
      if (packs_fit<X>(plane, dx, dx))
        mean_planes_backward<X, Y, N><<<grid, 256, 0, at->stream>>>(out, in, planes, plane);
      else
        mean_planes_backward<X, Y, 1><<<grid, 256, 0, at->stream>>>(out, in, planes, plane);
      return cudaGetLastError();
    });
  });
}
