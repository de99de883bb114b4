/* Softmax and cross entropy. One block per row; the last block sums the rows' losses in their order. */
#include "kernels.cuh"

namespace pd {

template <typename T>
__global__ void __launch_bounds__(256)
    cross_entropy(float *loss, float *probs, const T *logits, const int64_t *labels, int64_t rows, int64_t classes,
                  float *partials, uint32_t *counter) {
  float sum_of_losses = 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T *x = logits + row * classes;
    float *p = probs + row * classes;
    float top = -INFINITY, sum = 0;
    for (int64_t c = threadIdx.x; c < classes; c += blockDim.x) top = fmaxf(top, load(x + c));
    top = block_max(top);
    for (int64_t c = threadIdx.x; c < classes; c += blockDim.x) {
      const float e = expf(load(x + c) - top);
      p[c] = e;
      sum += e;
    }
    sum = block_sum(sum);
    const float scale = 1.0f / sum;
    for (int64_t c = threadIdx.x; c < classes; c += blockDim.x) p[c] *= scale;
    const int64_t label = labels[row];
    /* A label out of range makes the loss NaN instead of reading elsewhere. */
    const float of_label = label >= 0 && label < classes ? load(x + label) : NAN;
    sum_of_losses += top + logf(sum) - of_label;
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = sum_of_losses;
  if (!last_block(counter, gridDim.x)) return;
  float total = 0;
  for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += __ldcg(partials + i);
  total = block_sum(total);
  if (threadIdx.x == 0) *loss = total / (float)rows;
}

template <typename T>
__global__ void __launch_bounds__(256) cross_entropy_backward(T *dlogits, const float *probs, const int64_t *labels,
                                                              const float *scale, int64_t rows, int64_t classes) {
  const float factor = (scale ? *scale : 1.0f) / (float)rows;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const int64_t label = labels[row];
    for (int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; c < classes; c += (int64_t)gridDim.x * blockDim.x)
      store(dlogits + row * classes + c, (probs[row * classes + c] - (c == label ? 1.0f : 0.0f)) * factor);
  }
}

} // namespace pd

using namespace pd;

cudaError_t cuda_cross_entropy(const cuda_launch *at, float *loss, float *probs, const void *logits,
                               pd_dtype logits_dtype, const int64_t *labels, int64_t rows, int64_t classes) {
  return with_type(logits_dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    cross_entropy<<<blocks_for(rows, 1, CUDA_COUNTERS), 256, 0, at->stream>>>(
        loss, probs, static_cast<const T *>(logits), labels, rows, classes, at->partials, at->counters);
    return cudaGetLastError();
  });
}

cudaError_t cuda_cross_entropy_backward(const cuda_launch *at, void *dlogits, pd_dtype dlogits_dtype,
                                        const float *probs, const int64_t *labels, const float *scale, int64_t rows,
                                        int64_t classes) {
  return with_type(dlogits_dtype, [&](auto *t) {
    using T = PD_POINTEE(t);
    const dim3 grid(blocks_for(classes, 256, 64), (uint32_t)(rows < 65535 ? rows : 65535));
    cross_entropy_backward<<<grid, 256, 0, at->stream>>>(static_cast<T *>(dlogits), probs, labels, scale, rows,
                                                         classes);
    return cudaGetLastError();
  });
}
