/* Small helpers over pd_tensor: sizes and shapes. No memory is held here. */
#ifndef CORE_TRAIN_TENSOR_H
#define CORE_TRAIN_TENSOR_H

#include <pdhost/device.h>

int64_t tensor_count(const pd_tensor *tensor);
uint64_t tensor_bytes(const pd_tensor *tensor);

/* Shapes without data; `layout` counts for rank 4 alone. */
pd_tensor tensor_vector(pd_dtype dtype, int64_t count);
pd_tensor tensor_matrix(pd_dtype dtype, int64_t rows, int64_t columns);
pd_tensor tensor_image(pd_dtype dtype, pd_layout layout, int64_t n, int64_t c, int64_t h, int64_t w);
/* `like`'s shape and layout in another type. */
pd_tensor tensor_like(const pd_tensor *like, pd_dtype dtype);

/* Moves (A,B,C,D) float32 between NCHW and NHWC order on the host: to NHWC where `to_nhwc`, else back. */
void tensor_reorder(float *to, const float *from, const int64_t shape[4], bool to_nhwc);

#endif
