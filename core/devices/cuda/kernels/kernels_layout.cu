/* Conversions of type and of layout. */
#include "kernels.cuh"

#include <type_traits>

namespace pd {

template <typename Y, typename X, int N>
__global__ void __launch_bounds__(256) convert(Y *y, const X *x, int64_t count) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  for (int64_t i = first; i < count / N; i += step) {
    float v[N];
    load_n<X, N>(v, x + i * N);
    store_n<Y, N>(y + i * N, v);
  }
  for (int64_t i = count / N * N + first; i < count; i += step) store(y + i, load(x + i));
}

/* (rows, columns) to (columns, rows) for each image, through a 32x32 tile. */
template <typename Y, typename X>
__global__ void __launch_bounds__(256) transpose(Y *y, const X *x, int64_t images, int64_t rows, int64_t columns) {
  __shared__ float tile[32][33];
  const int64_t row_tiles = (rows + 31) / 32;
  const int64_t image_size = rows * columns;
  for (int64_t z = blockIdx.y; z < images * row_tiles; z += gridDim.y) {
    const int64_t image = z / row_tiles, row = z % row_tiles * 32, column = blockIdx.x * (int64_t)32;
    for (int r = threadIdx.y; r < 32; r += 8)
      if (row + r < rows && column + threadIdx.x < columns)
        tile[r][threadIdx.x] = load(x + image * image_size + (row + r) * columns + column + threadIdx.x);
    __syncthreads();
    for (int c = threadIdx.y; c < 32; c += 8)
      if (column + c < columns && row + threadIdx.x < rows)
        store(y + image * image_size + (column + c) * rows + row + threadIdx.x, tile[threadIdx.x][c]);
    __syncthreads();
  }
}

/* Three planes to pixels of three: four pixels a thread, so that reads and writes are whole vectors. */
template <typename Y, typename X>
__global__ void __launch_bounds__(256) planes3_to_pixels(Y *y, const X *x, int64_t images, int64_t plane) {
  const int64_t quads = plane / 4;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < images * quads;
       i += (int64_t)gridDim.x * blockDim.x) {
    const int64_t image = i / quads, at = i % quads * 4;
    struct alignas(4 * sizeof(X)) in4 {
      X v[4];
    } in[3];
    struct alignas(4 * sizeof(Y)) out4 {
      Y v[4];
    } out[3];
#pragma unroll
    for (int c = 0; c < 3; c++) in[c] = *reinterpret_cast<const in4 *>(x + (image * 3 + c) * plane + at);
#pragma unroll
    for (int k = 0; k < 12; k++) store(&out[k / 4].v[k % 4], load(&in[k % 3].v[k / 3]));
#pragma unroll
    for (int k = 0; k < 3; k++) reinterpret_cast<out4 *>(y + (image * plane + at) * 3)[k] = out[k];
  }
}

} // namespace pd

using namespace pd;

cudaError_t cuda_convert(const cuda_launch *at, void *y, pd_dtype y_dtype, const void *x, pd_dtype x_dtype,
                         int64_t count) {
  return with_type(y_dtype, [&](auto *ty) {
    using Y = PD_POINTEE(ty);
    return with_type(x_dtype, [&](auto *tx) {
      using X = PD_POINTEE(tx);
      const uint32_t blocks = blocks_for(count, 2048, (int64_t)at->sm_count * 16);
      if (aligned(y) && aligned(x))
        convert<Y, X, 8><<<blocks, 256, 0, at->stream>>>(static_cast<Y *>(y), static_cast<const X *>(x), count);
      else
        convert<Y, X, 1><<<blocks, 256, 0, at->stream>>>(static_cast<Y *>(y), static_cast<const X *>(x), count);
      return cudaGetLastError();
    });
  });
}

cudaError_t cuda_transpose(const cuda_launch *at, void *y, pd_dtype y_dtype, const void *x, pd_dtype x_dtype,
                           int64_t images, int64_t channels, int64_t plane, bool to_nhwc) {
  return with_type(y_dtype, [&](auto *ty) {
    using Y = PD_POINTEE(ty);
    return with_type(x_dtype, [&](auto *tx) {
      using X = PD_POINTEE(tx);
      Y *out = static_cast<Y *>(y);
      const X *in = static_cast<const X *>(x);
      if (to_nhwc && channels == 3 && plane % 4 == 0 && aligned(y) && aligned(x)) {
        planes3_to_pixels<<<blocks_for(images * plane / 4, 256, (int64_t)at->sm_count * 16), 256, 0, at->stream>>>(
            out, in, images, plane);
        return cudaGetLastError();
      }
      const int64_t rows = to_nhwc ? channels : plane, columns = to_nhwc ? plane : channels;
      const int64_t tiles = images * ((rows + 31) / 32);
      const dim3 grid((uint32_t)((columns + 31) / 32), (uint32_t)(tiles < 65535 ? tiles : 65535));
      transpose<<<grid, dim3(32, 8), 0, at->stream>>>(out, in, images, rows, columns);
      return cudaGetLastError();
    });
  });
}
