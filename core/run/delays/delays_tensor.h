/* The functions of a device that launch kernels, with a call before each. [loop thread] */
#ifndef CORE_RUN_DELAYS_DELAYS_TENSOR_H
#define CORE_RUN_DELAYS_DELAYS_TENSOR_H

#include <pdhost/device.h>

typedef pd_status (*delays_before)(pd_device *device, pd_stream *stream);

/* `table` holds a device's own functions: each that is there is replaced by one that calls `before` first, and then
 * that of the last table given. */
void delays_tensor_wrap(pd_tensor_ops *table, delays_before before);

#endif
