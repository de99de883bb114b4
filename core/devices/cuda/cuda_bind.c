/* Which device the calling thread has. See cuda_device.h. */
#include "cuda_error.h"

/* The runtime starts every thread on device 0. */
static _Thread_local int bound_device;

pd_status cuda_bind_first(pd_device *device) {
  const pd_status status = cuda_check(device, cudaSetDevice(device->index), "cudaSetDevice");
  if (status == PD_OK) bound_device = device->index;
  return status;
}

pd_status cuda_bind(pd_device *device) { return bound_device == device->index ? PD_OK : cuda_bind_first(device); }
