/* See tensor.h. */
#include "tensor.h"

int64_t tensor_count(const pd_tensor *tensor) {
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
  return count;
}

static uint64_t tensor_dtype_bytes(pd_dtype dtype) {
  switch (dtype) {
  case PD_F16:
  case PD_BF16: return 2;
  case PD_I64: return 8;
  case PD_U8: return 1;
  default: return 4;
  }
}

uint64_t tensor_bytes(const pd_tensor *tensor) {
  return (uint64_t)tensor_count(tensor) * tensor_dtype_bytes(tensor->dtype);
}

pd_tensor tensor_vector(pd_dtype dtype, int64_t count) {
  return (pd_tensor){.rank = 1, .dtype = dtype, .shape = {count}};
}

pd_tensor tensor_matrix(pd_dtype dtype, int64_t rows, int64_t columns) {
  return (pd_tensor){.rank = 2, .dtype = dtype, .shape = {rows, columns}};
}

pd_tensor tensor_image(pd_dtype dtype, pd_layout layout, int64_t n, int64_t c, int64_t h, int64_t w) {
  return (pd_tensor){.rank = 4, .dtype = dtype, .layout = layout, .shape = {n, c, h, w}};
}

pd_tensor tensor_like(const pd_tensor *like, pd_dtype dtype) {
  pd_tensor tensor = *like;
  tensor.data = NULL;
  tensor.dtype = dtype;
  return tensor;
}

void tensor_reorder(float *to, const float *from, const int64_t shape[4], bool to_nhwc) {
  const int64_t channels = shape[1], plane = shape[2] * shape[3];
  for (int64_t n = 0; n < shape[0]; n++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t p = 0; p < plane; p++) {
        const int64_t nchw = (n * channels + c) * plane + p, nhwc = (n * plane + p) * channels + c;
        if (to_nhwc)
          to[nhwc] = from[nchw];
        else
          to[nchw] = from[nhwc];
      }
}
