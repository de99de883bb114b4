/* Softmax over rows, one warp a row, and the swap of the two middle dimensions of four. */
#include "kernels.cuh"

#include <type_traits>

namespace pd {

enum { softmax_warps = 8 };

/* A lane writes the elements that it has read itself: y may be x. */
template <typename T>
__global__ void __launch_bounds__(32 * softmax_warps)
    softmax(T *y, const T *x, int64_t rows, int64_t columns, float scale) {
  const int lane = threadIdx.x % 32;
  const int64_t warps = (int64_t)gridDim.x * softmax_warps;
  for (int64_t row = blockIdx.x * (int64_t)softmax_warps + threadIdx.x / 32; row < rows; row += warps) {
    const T *from = x + row * columns;
    T *to = y + row * columns;
    float top = -INFINITY, sum = 0;
    for (int64_t c = lane; c < columns; c += 32) top = fmaxf(top, scale * load(from + c));
    top = warp_max(top);
    for (int64_t c = lane; c < columns; c += 32) sum += expf(scale * load(from + c) - top);
    const float share = 1.0f / warp_sum(sum);
    for (int64_t c = lane; c < columns; c += 32) store(to + c, expf(scale * load(from + c) - top) * share);
  }
}

template <typename T>
__global__ void __launch_bounds__(32 * softmax_warps)
    softmax_backward(T *dx, const T *dy, const T *y, int64_t rows, int64_t columns, float scale) {
  const int lane = threadIdx.x % 32;
  const int64_t warps = (int64_t)gridDim.x * softmax_warps;
  for (int64_t row = blockIdx.x * (int64_t)softmax_warps + threadIdx.x / 32; row < rows; row += warps) {
    const T *slope = dy + row * columns, *value = y + row * columns;
    float along = 0;
    for (int64_t c = lane; c < columns; c += 32) along = fmaf(load(slope + c), load(value + c), along);
    along = warp_sum(along);
    for (int64_t c = lane; c < columns; c += 32)
      store(dx + row * columns + c, scale * load(value + c) * (load(slope + c) - along));
  }
}

/* `d` counts packs of N elements. */
template <typename T, int N>
__global__ void __launch_bounds__(256) swap_middle(T *y, const T *x, int64_t count, int64_t b, int64_t c, int64_t d) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
    const int64_t column = i % d, in_c = i / d % c, in_b = i / (d * c) % b, in_a = i / (d * c * b);
    store_raw<T, N>(y + (((in_a * c + in_c) * b + in_b) * d + column) * N, load_raw<T, N>(x + i * N));
  }
}

template <typename T, int N>
cudaError_t swap_middle_launch(const cuda_launch *at, T *y, const T *x, const int64_t shape[4]) {
  const int64_t packs = shape[3] / N, count = shape[0] * shape[1] * shape[2] * packs;
  const uint32_t blocks = blocks_for(count, 256, (int64_t)at->sm_count * 16);
  swap_middle<T, N><<<blocks, 256, 0, at->stream>>>(y, x, count, shape[1], shape[2], packs);
  return cudaGetLastError();
}

inline uint32_t softmax_blocks(const cuda_launch *at, int64_t rows) {
  return blocks_for(rows, softmax_warps, (int64_t)at->sm_count * 16);
}

} // namespace pd

using namespace pd;

cudaError_t cuda_softmax(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, int64_t rows, int64_t columns,
                         float scale) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    softmax<T><<<softmax_blocks(at, rows), 32 * softmax_warps, 0, at->stream>>>(
        static_cast<T *>(y), static_cast<const T *>(x), rows, columns, scale);
    return cudaGetLastError();
  });
}

cudaError_t cuda_softmax_backward(const cuda_launch *at, pd_dtype dtype, void *dx, const void *dy, const void *y,
                                  int64_t rows, int64_t columns, float scale) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    softmax_backward<T><<<softmax_blocks(at, rows), 32 * softmax_warps, 0, at->stream>>>(
        static_cast<T *>(dx), static_cast<const T *>(dy), static_cast<const T *>(y), rows, columns, scale);
    return cudaGetLastError();
  });
}

cudaError_t cuda_swap_middle(const cuda_launch *at, pd_dtype dtype, void *y, const void *x, const int64_t shape[4]) {
  return with_type(dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    constexpr int N = pack<T>::width;
    T *to = static_cast<T *>(y);
    const T *from = static_cast<const T *>(x);
    if (shape[3] % N == 0 && aligned(y) && aligned(x)) return swap_middle_launch<T, N>(at, to, from, shape);
    return swap_middle_launch<T, 1>(at, to, from, shape);
  });
}
