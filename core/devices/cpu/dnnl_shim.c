/* oneDNN 2 describes an operation first and then makes a primitive's descriptor of it; oneDNN 3 does both in one call.
 */
#include "dnnl_shim.h"

#include <stdlib.h>

#if DNNL_VERSION_MAJOR < 3

dnnl_status_t dnnl_shim_desc_create(dnnl_shim_desc *out, int count, const dnnl_dims_t sizes, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t *desc = calloc(1, sizeof *desc);
  if (!desc) return dnnl_out_of_memory;
  const dnnl_status_t status = dnnl_memory_desc_init_by_tag(desc, count, sizes, dnnl_f32, tag);
  if (status != dnnl_success)
    free(desc);
  else
    *out = desc;
  return status;
}

void dnnl_shim_desc_destroy(dnnl_shim_desc desc) { free(desc); }

dnnl_status_t dnnl_shim_append_relu(dnnl_post_ops_t post) {
  return dnnl_post_ops_append_eltwise(post, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
}

dnnl_status_t dnnl_shim_convolution_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                           const dnnl_shim_convolution *c, const_dnnl_primitive_attr_t attributes,
                                           const_dnnl_primitive_desc_t hint) {
  const dnnl_dims_t strides = {c->stride, c->stride}, padding = {c->padding, c->padding};
  const dnnl_alg_kind_t direct = dnnl_convolution_direct;
  dnnl_convolution_desc_t operation;
  dnnl_status_t status = dnnl_invalid_arguments;
  switch (c->pass) {
  case DNNL_SHIM_FORWARD:
    status = dnnl_convolution_forward_desc_init(&operation, dnnl_forward_training, direct, c->x, c->w, c->bias, c->y,
                                                strides, padding, padding);
    break;
  case DNNL_SHIM_BACKWARD_DATA:
    status = dnnl_convolution_backward_data_desc_init(&operation, direct, c->x, c->w, c->y, strides, padding, padding);
    break;
  case DNNL_SHIM_BACKWARD_WEIGHTS:
    status = dnnl_convolution_backward_weights_desc_init(&operation, direct, c->x, c->w, c->bias, c->y, strides,
                                                         padding, padding);
    break;
  }
  return status != dnnl_success ? status : dnnl_primitive_desc_create(out, &operation, attributes, engine, hint);
}

#else

dnnl_status_t dnnl_shim_desc_create(dnnl_shim_desc *out, int count, const dnnl_dims_t sizes, dnnl_format_tag_t tag) {
  return dnnl_memory_desc_create_with_tag(out, count, sizes, dnnl_f32, tag);
}

void dnnl_shim_desc_destroy(dnnl_shim_desc desc) {
  if (desc) dnnl_memory_desc_destroy(desc);
}

dnnl_status_t dnnl_shim_append_relu(dnnl_post_ops_t post) {
  return dnnl_post_ops_append_eltwise(post, dnnl_eltwise_relu, 0.0f, 0.0f);
}

dnnl_status_t dnnl_shim_convolution_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                           const dnnl_shim_convolution *c, const_dnnl_primitive_attr_t attributes,
                                           const_dnnl_primitive_desc_t hint) {
  const dnnl_dims_t strides = {c->stride, c->stride}, padding = {c->padding, c->padding}, dilates = {0, 0};
  const dnnl_alg_kind_t direct = dnnl_convolution_direct;
  switch (c->pass) {
  case DNNL_SHIM_FORWARD:
    return dnnl_convolution_forward_primitive_desc_create(out, engine, dnnl_forward_training, direct, c->x, c->w,
                                                          c->bias, c->y, strides, dilates, padding, padding,
                                                          attributes);
  case DNNL_SHIM_BACKWARD_DATA:
    return dnnl_convolution_backward_data_primitive_desc_create(out, engine, direct, c->x, c->w, c->y, strides, dilates,
                                                                padding, padding, hint, attributes);
  case DNNL_SHIM_BACKWARD_WEIGHTS:
    return dnnl_convolution_backward_weights_primitive_desc_create(
        out, engine, direct, c->x, c->w, c->bias, c->y, strides, dilates, padding, padding, hint, attributes);
  }
  return dnnl_invalid_arguments;
}

#endif
