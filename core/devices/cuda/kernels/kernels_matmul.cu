/*
 * Small matrix products, for which a launch of the library's costs more than the product: one block per 32 x 32
 * results, its warps side by side along k.
 *
 * A thread reads 4 rows and 4 columns, 8 numbers of k each, in 16-byte accesses straight into the operands of the
 * tensor cores. Which row, column or k an operand's slot stands for is free as long as both operands agree; here slots
 * are dealt so that what a thread reads is contiguous.
 */
#include "kernels_mma.cuh"

namespace pd {

constexpr int side = 32, depth = 32, matmul_warps = 8;

/* Numbers k+8t .. k+8t+7 of lines 4g .. 4g+3 of an operand whose lines are rows (of a) or columns (of b). `across`: a
 * line's numbers lie `length` apart and the lines side by side; else the other way round. */
template <typename T>
__device__ inline void read(T (&v)[4][8], const T *from, int64_t line, int64_t lines, int64_t k, int64_t length_k,
                            bool across) {
  constexpr int width = pack<T>::width < 8 ? pack<T>::width : 8;
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) v[i][j] = T(0.0f);
  if (across) {
    if (line >= lines) return;
#pragma unroll
    for (int j = 0; j < 8; j++) {
      if (k + j >= length_k) break;
      struct alignas(4 * sizeof(T)) four {
        T v[4];
      } in = *reinterpret_cast<const four *>(from + (k + j) * lines + line);
#pragma unroll
      for (int i = 0; i < 4; i++) v[i][j] = in.v[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (line + i >= lines) break;
#pragma unroll
      for (int j = 0; j < 8; j += width) {
        if (k + j >= length_k) break;
        const raw<T, width> in = load_raw<T, width>(from + (line + i) * length_k + k + j);
#pragma unroll
        for (int n = 0; n < width; n++) v[i][j + n] = in.v[n];
      }
    }
  }
}

__device__ inline uint32_t slot(const __half (&v)[8], int s, int second) {
  const __half2 two = __halves2half2(v[4 * s + 2 * second], v[4 * s + 2 * second + 1]);
  return *reinterpret_cast<const uint32_t *>(&two);
}
__device__ inline uint32_t slot(const float (&v)[8], int s, int second) { return __float_as_uint(v[2 * s + second]); }

struct matmul_call {
  const void *a, *b;
  void *c;
  const float *bias;
  int64_t m, n, k;
  bool across_a, across_b, accumulate;
};

template <typename T, typename C, bool Exact>
__global__ void __launch_bounds__(32 * matmul_warps) matmul_small(const __grid_constant__ matmul_call p) {
  constexpr int steps = 8 * sizeof(T) / 8; /* of the tensor cores per 32 numbers of k */
  __shared__ float sums[matmul_warps][side * side];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int64_t row = blockIdx.y * (int64_t)side, column = blockIdx.x * (int64_t)side;
  const int chunks = (int)((p.k + depth - 1) / depth);
  float sum[2][4][4] = {};
  for (int chunk = warp; chunk < chunks; chunk += matmul_warps) {
    const int64_t k = chunk * (int64_t)depth + 8 * t;
    T a[4][8], b[4][8];
    read(a, static_cast<const T *>(p.a), row + 4 * g, p.m, k, p.k, p.across_a);
    read(b, static_cast<const T *>(p.b), column + 4 * g, p.n, k, p.k, p.across_b);
    if constexpr (sizeof(T) == 4 && !Exact) {
#pragma unroll
      for (int i = 0; i < 32; i++) {
        a[i / 8][i % 8] = round_tf32(a[i / 8][i % 8]);
        b[i / 8][i % 8] = round_tf32(b[i / 8][i % 8]);
      }
    }
#pragma unroll
    for (int s = 0; s < steps; s++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const uint32_t left[4] = {slot(a[2 * i], s, 0), slot(a[2 * i + 1], s, 0), slot(a[2 * i], s, 1),
                                  slot(a[2 * i + 1], s, 1)};
#pragma unroll
        for (int j = 0; j < 4; j++) {
          const uint32_t right[2] = {slot(b[j], s, 0), slot(b[j], s, 1)};
          step<Exact, T>(sum[i][j], left, right);
        }
      }
  }
#pragma unroll
  for (int v = 0; v < 32; v++) sums[warp][v * 32 + lane] = sum[v / 16][v / 4 % 4][v % 4];
  __syncthreads();

  /* Thread (lane, part): row 4g + part/2, columns 8t + 4 (part%2) .. +3. */
  const int part = warp, r = part / 2, e = part % 2;
  const int64_t to_row = row + 4 * g + r, to_column = column + 8 * t + 4 * e;
  if (to_row >= p.m || to_column >= p.n) return;
  const int used = chunks < matmul_warps ? chunks : matmul_warps;
  float v[4];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    v[j] = p.bias ? p.bias[to_column + j] : 0.0f;
    for (int w = 0; w < used; w++) v[j] += sums[w][((r / 2 * 4 + j) * 4 + r % 2 * 2 + e) * 32 + lane];
  }
  struct alignas(4 * sizeof(C)) four {
    C v[4];
  } out, *to = reinterpret_cast<four *>(static_cast<C *>(p.c) + to_row * p.n + to_column);
  if (p.accumulate) {
    out = *to;
#pragma unroll
    for (int j = 0; j < 4; j++) v[j] += load(&out.v[j]);
  }
#pragma unroll
  for (int j = 0; j < 4; j++) store(&out.v[j], v[j]);
  *to = out;
}

template <typename T, bool Exact>
cudaError_t matmul_launch(const cuda_launch *at, const matmul_call &call, pd_dtype c_dtype) {
  const dim3 grid((uint32_t)((call.n + side - 1) / side), (uint32_t)((call.m + side - 1) / side));
  if (c_dtype == PD_F16)
    matmul_small<T, __half, Exact><<<grid, 32 * matmul_warps, 0, at->stream>>>(call);
  else
    matmul_small<T, float, Exact><<<grid, 32 * matmul_warps, 0, at->stream>>>(call);
  return cudaGetLastError();
}

} // namespace pd

cudaError_t cuda_matmul_small(const cuda_launch *at, const cuda_matmul *m) {
  const pd::matmul_call call = {m->a, m->b, m->c,           m->bias,         m->m,
                                m->n, m->k, m->transpose_a, !m->transpose_b, m->accumulate};
  if (m->ab_dtype == PD_F16) return pd::matmul_launch<__half, false>(at, call, m->c_dtype);
  return m->tf32 ? pd::matmul_launch<float, false>(at, call, m->c_dtype)
                 : pd::matmul_launch<float, true>(at, call, m->c_dtype);
}
