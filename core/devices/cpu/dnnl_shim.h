/*
 * What oneDNN 2 and oneDNN 3 spell differently, in one spelling: memory descriptors, convolutions and the ReLU after
 * them. All else of oneDNN that the device calls is the same in both and is called by its own name. A function returns
 * oneDNN's status and leaves *out alone when it fails. [any thread; one object from one thread at a time]
 */
#ifndef DEVICES_CPU_DNNL_SHIM_H
#define DEVICES_CPU_DNNL_SHIM_H

#include <oneapi/dnnl/dnnl.h>

/* In oneDNN 2 a descriptor is a struct that the caller keeps; here, as in oneDNN 3, it is an object. */
#if DNNL_VERSION_MAJOR < 3
typedef dnnl_memory_desc_t *dnnl_shim_desc;
typedef const dnnl_memory_desc_t *dnnl_shim_const_desc;
#else
typedef dnnl_memory_desc_t dnnl_shim_desc;
typedef const_dnnl_memory_desc_t dnnl_shim_const_desc;
#endif

/* Describes floats of `count` dimensions in the order of `tag`. The caller destroys it. */
dnnl_status_t dnnl_shim_desc_create(dnnl_shim_desc *out, int count, const dnnl_dims_t sizes, dnnl_format_tag_t tag);
void dnnl_shim_desc_destroy(dnnl_shim_desc desc); /* NULL: nothing */

/* Appends y = max(y, 0). */
dnnl_status_t dnnl_shim_append_relu(dnnl_post_ops_t post);

typedef enum dnnl_shim_pass {
  DNNL_SHIM_FORWARD = 0,
  DNNL_SHIM_BACKWARD_DATA,
  DNNL_SHIM_BACKWARD_WEIGHTS
} dnnl_shim_pass;

/* One pass of a convolution over images. x, w and y are the tensors or, in their places, their gradients. */
typedef struct dnnl_shim_convolution {
  dnnl_shim_pass pass;
  dnnl_shim_const_desc x, w, bias, y; /* bias: NULL or, forward only, that of y's channels */
  int64_t stride, padding;            /* elements, of both dimensions */
} dnnl_shim_convolution;

/* `attributes` may be NULL. `hint` is the forward pass's descriptor; NULL where this is it. The caller destroys *out.
 */
dnnl_status_t dnnl_shim_convolution_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                           const dnnl_shim_convolution *convolution,
                                           const_dnnl_primitive_attr_t attributes, const_dnnl_primitive_desc_t hint);

#endif
