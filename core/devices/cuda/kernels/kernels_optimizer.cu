/* AdamW, unscaling and the loss scaler over a table of parameters that travels as a kernel argument, so that the call
 * needs no copy and no memory. */
#include "kernels.cuh"

namespace pd {

constexpr int chunk = 2048; /* elements per block */

struct table {
  pd_parameter parameter[CUDA_TABLE];
  uint32_t first_block[CUDA_TABLE + 1];
  uint32_t count;
};

/* The parameter this block works on; `begin` and `end` are its elements. */
__device__ inline const pd_parameter &part_of(const table &t, int64_t &begin, int64_t &end) {
  uint32_t i = 0;
  while (i + 1 < t.count && blockIdx.x >= t.first_block[i + 1]) i++;
  begin = (int64_t)(blockIdx.x - t.first_block[i]) * chunk;
  end = begin + chunk < t.parameter[i].count ? begin + chunk : t.parameter[i].count;
  return t.parameter[i];
}

__global__ void __launch_bounds__(256)
    adamw(const __grid_constant__ table t, const __grid_constant__ cuda_adamw_call a, uint32_t *counter) {
  __shared__ float step_size, root_of_correction;
  if (a.found_inf && *a.found_inf != 0) return;
  if (threadIdx.x == 0) {
    const double step = (double)(*a.step + 1);
    step_size = (float)(a.lr / -expm1(step * a.log_beta1));
    root_of_correction = (float)sqrt(-expm1(step * a.log_beta2));
  }
  __syncthreads();
  int64_t begin, end;
  const pd_parameter &p = part_of(t, begin, end);
#pragma unroll 8
  for (int k = 0; k < chunk / 256; k++) {
    const int64_t i = begin + k * 256 + threadIdx.x;
    if (i >= end) continue;
    const float g = p.grad[i];
    const float m = a.beta1 * p.m[i] + a.rest1 * g;
    const float v = a.beta2 * p.v[i] + a.rest2 * g * g;
    float w = p.value[i] * (1.0f - a.lr * a.weight_decay);
    w -= step_size * m / (sqrtf(v) / root_of_correction + a.eps);
    p.m[i] = m;
    p.v[i] = v;
    p.value[i] = w;
    if (!p.half) continue;
    if (a.half_dtype == PD_BF16)
      store(static_cast<__nv_bfloat16 *>(p.half) + i, w);
    else
      store(static_cast<__half *>(p.half) + i, w);
  }
  if (a.last && last_block(counter, gridDim.x) && threadIdx.x == 0) *a.step += 1;
}

/* counter[0] counts blocks, counter[1] remembers a bad element until the last call's last block. */
__global__ void __launch_bounds__(256)
    unscale(const __grid_constant__ table t, const float *scale, float *found_inf, bool last, uint32_t *counter) {
  const float inverse = 1.0f / *scale;
  int64_t begin, end;
  const pd_parameter &p = part_of(t, begin, end);
  bool bad = false;
#pragma unroll 8
  for (int k = 0; k < chunk / 256; k++) {
    const int64_t i = begin + k * 256 + threadIdx.x;
    if (i >= end) continue;
    const float g = p.grad[i] * inverse;
    bad |= !isfinite(g);
    p.grad[i] = g;
  }
  if (__syncthreads_or(bad) && threadIdx.x == 0) atomicOr(counter + 1, 1u);
  if (last_block(counter, gridDim.x) && last && threadIdx.x == 0)
    *found_inf = atomicExch(counter + 1, 0u) ? 1.0f : 0.0f;
}

__global__ void scaler_update(pd_scaler s) {
  if (*s.found_inf != 0) {
    *s.scale = (float)(*s.scale * s.backoff);
    *s.good_steps = 0;
  } else if (*s.good_steps + 1 >= s.interval) {
    const float grown = (float)(*s.scale * s.growth);
    if (isfinite(grown)) *s.scale = grown;
    *s.good_steps = 0;
  } else {
    *s.good_steps += 1;
  }
}

inline uint32_t fill_table(table &t, const pd_parameter *parameters, int64_t count) {
  uint32_t blocks = 0;
  t.count = (uint32_t)count;
  t.parameter[0].count = 0; /* of the one block that runs where there is nothing to do */
  for (int64_t i = 0; i < count; i++) {
    t.parameter[i] = parameters[i];
    t.first_block[i] = blocks;
    blocks += (uint32_t)((parameters[i].count + chunk - 1) / chunk);
  }
  t.first_block[count] = blocks;
  return blocks;
}

} // namespace pd

using namespace pd;

cudaError_t cuda_adamw(const cuda_launch *at, const pd_parameter *parameters, int64_t count,
                       const cuda_adamw_call *call) {
  table t;
  const uint32_t blocks = fill_table(t, parameters, count);
  adamw<<<blocks ? blocks : 1, 256, 0, at->stream>>>(t, *call, at->counters);
  return cudaGetLastError();
}

cudaError_t cuda_unscale(const cuda_launch *at, const pd_parameter *parameters, int64_t count, const float *scale,
                         float *found_inf, bool last) {
  table t;
  const uint32_t blocks = fill_table(t, parameters, count);
  unscale<<<blocks ? blocks : 1, 256, 0, at->stream>>>(t, scale, found_inf, last, at->counters);
  return cudaGetLastError();
}

cudaError_t cuda_scaler_update(const cuda_launch *at, const pd_scaler *scaler) {
  scaler_update<<<1, 1, 0, at->stream>>>(*scaler);
  return cudaGetLastError();
}
