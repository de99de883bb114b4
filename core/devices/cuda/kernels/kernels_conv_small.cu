/* Forward pass of a 3x3 convolution of at most three input channels, with bias and ReLU. */
#include "kernels_conv_small.cuh"

namespace pd {

constexpr int tile_pixels = 128, conv_threads = 256;

/*
 * A block walks over tiles of 128 output pixels with 64 output channels' weights in shared memory. NHWC: rows are
 * pixels, columns channels; NCHW: the other way round. Columns are dealt to the tensor-core tiles so that a thread ends
 * up with 16 consecutive bytes of the result.
 */
template <typename X, typename Y, bool Nhwc, bool Exact>
__global__ void __launch_bounds__(conv_threads, Exact ? 2 : 3) conv_small(const __grid_constant__ cuda_conv_small p) {
  constexpr int depth = 32 / sizeof(Y), steps = patch_width / depth; /* numbers of a patch per tensor-core step */
  constexpr int stride = patch_width + 16 / sizeof(Y);               /* of a row in shared memory */
  constexpr int share = 8 / sizeof(Y);                               /* tiles that fill 16 bytes of a thread */
  constexpr int run = 2 * share, word = 4 / sizeof(Y);
  __shared__ alignas(16) Y buffers[2][tile_pixels * stride];
  __shared__ alignas(16) Y weights[group_channels * stride];
  __shared__ float biases[group_channels];
  /* Where column `i` of the product lies among the rows in shared memory: tile by tile, each tile's columns dealt out
   * in pairs, so that a thread gets `run` consecutive ones. */
  auto row_of = [](int i) {
    const int inside = i % (8 * share);
    return i - inside + inside % run / 2 * 8 + inside / run * 2 + i % 2;
  };
  const int thread = threadIdx.x, warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
  const int first_channel = blockIdx.y * group_channels;
  const uint32_t plane = (uint32_t)p.out_height * (uint32_t)p.out_width, total = (uint32_t)p.images * plane;
  for (int i = thread; i < group_channels * patch_width; i += conv_threads)
    put<Exact>(&weights[(Nhwc ? row_of(i / patch_width) : i / patch_width) * stride + i % patch_width],
               load_weight(p, first_channel + i / patch_width, i % patch_width));
  if (thread < group_channels) biases[thread] = p.bias ? p.bias[first_channel + thread] : 0.0f;
  __syncthreads();

  /* Row `row` of a matrix in shared memory, numbers of step `s` that this thread feeds. */
  auto word_at = [&](const Y *matrix, int row, int s, int second) {
    return *reinterpret_cast<const uint32_t *>(matrix + row * stride + s * depth + word * (t + 4 * second));
  };
  uint32_t row_weights[steps][4];
  const int row_base = Nhwc ? warp * 16 : warp % 4 * 16;
  if constexpr (!Nhwc) {
#pragma unroll
    for (int s = 0; s < steps; s++)
      for (int i = 0; i < 4; i++) row_weights[s][i] = word_at(weights, row_base + g + i % 2 * 8, s, i / 2);
  }

  /* The next tile's patches are read before this one's products, and written to the other buffer after them. */
  const uint32_t tiles = (total + tile_pixels - 1) / tile_pixels;
  fragment<X, 16> next;
  auto fetch = [&](uint32_t tile) {
    const pixel at = pixel_of(p, tile * tile_pixels + thread % tile_pixels, total);
    if (thread < tile_pixels)
      gather<0>(next, p, at);
    else
      gather<16>(next, p, at);
  };
  auto stow = [&](Y *buffer) {
    const int row = Nhwc ? thread % tile_pixels : row_of(thread % tile_pixels);
    if (thread < tile_pixels)
      put_all<0, 16, Exact>(buffer + row * stride, next, false);
    else
      put_all<16, 16, Exact>(buffer + row * stride, next, false);
  };
  fetch(blockIdx.x);
  stow(buffers[0]);
  __syncthreads();
  int turn = 0;
  for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x, turn ^= 1) {
    const uint32_t first = tile * tile_pixels;
    const Y *patches = buffers[turn];
    const bool more = tile + gridDim.x < tiles;
    if (more) fetch(tile + gridDim.x);
    float c[8][4] = {};
    if constexpr (Nhwc) {
#pragma unroll
      for (int s = 0; s < steps; s++) {
        uint32_t a[4];
        for (int i = 0; i < 4; i++) a[i] = word_at(patches, row_base + g + i % 2 * 8, s, i / 2);
#pragma unroll
        for (int j = 0; j < 8; j++) {
          const uint32_t b[2] = {word_at(weights, j * 8 + g, s, 0), word_at(weights, j * 8 + g, s, 1)};
          step<Exact, Y>(c[j], a, b);
        }
      }
    } else {
#pragma unroll
      for (int s = 0; s < steps; s++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
          const int row = warp / 4 * 64 + j * 8 + g;
          const uint32_t b[2] = {word_at(patches, row, s, 0), word_at(patches, row, s, 1)};
          step<Exact, Y>(c[j], row_weights[s], b);
        }
    }
    if (more) stow(buffers[turn ^ 1]);

    Y *y = static_cast<Y *>(p.y);
    const uint32_t first_image = Nhwc ? 0 : first / plane, first_rest = Nhwc ? 0 : first % plane;
#pragma unroll
    for (int i = 0; i < 8 / share; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int column = i * 8 * share + t * run, row = row_base + g + 8 * h;
        float v[run];
#pragma unroll
        for (int k = 0; k < run; k++) {
          v[k] = c[i * share + k / 2][2 * h + k % 2] + biases[Nhwc ? column + k : row];
          if (p.relu && v[k] < 0) v[k] = 0;
        }
        if constexpr (Nhwc) {
          const uint32_t q = first + row;
          if (q < total) store_n<Y, run>(y + (int64_t)q * p.out_channels + first_channel + column, v);
        } else {
          const uint32_t q = first + warp / 4 * 64 + column;
          const int64_t channel = first_channel + row;
          uint32_t image = first_image, rest = first_rest + q - first;
          for (; rest >= plane; rest -= plane) image++;
          if (plane % run == 0) {
            if (q < total) store_n<Y, run>(y + (image * (int64_t)p.out_channels + channel) * plane + rest, v);
          } else {
            for (uint32_t k = 0; k < run; k++)
              if (q + k < total)
                store(y + ((q + k) / plane * (int64_t)p.out_channels + channel) * plane + (q + k) % plane, v[k]);
          }
        }
      }
    __syncthreads();
  }
}

template <typename X, typename Y, bool Exact>
cudaError_t conv_small_launch(const cuda_launch *at, const cuda_conv_small *conv) {
  const int64_t pixels = (int64_t)conv->images * conv->out_height * conv->out_width;
  const dim3 grid(blocks_for(pixels, tile_pixels, (int64_t)at->sm_count * (Exact ? 2 : 3)),
                  (uint32_t)conv->out_channels / group_channels);
  if (conv->nhwc)
    conv_small<X, Y, true, Exact><<<grid, conv_threads, 0, at->stream>>>(*conv);
  else
    conv_small<X, Y, false, Exact><<<grid, conv_threads, 0, at->stream>>>(*conv);
  return cudaGetLastError();
}

} // namespace pd

cudaError_t cuda_conv_small_forward(const cuda_launch *at, const cuda_conv_small *conv) {
  return pd::with_small_type(conv->x_dtype, [&](auto *tx) {
    using X = PD_POINTEE(tx);
    if (conv->y_dtype == PD_F16) return pd::conv_small_launch<X, __half, false>(at, conv);
    return conv->tf32 ? pd::conv_small_launch<X, float, false>(at, conv)
                      : pd::conv_small_launch<X, float, true>(at, conv);
  });
}
