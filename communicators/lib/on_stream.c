/* See on_stream.h. */
#include "on_stream.h"

pd_status on_stream_reduce(const pd_host *host, const char *name, pd_stream *stream, pd_site *site,
                           pd_host_kernel reduce, const reduction *of) {
  const pd_device_access *device = host->extension(host, PD_EXT_DEVICE); /* opened after the communicator */
  const pd_stream_ops *ops = device ? device->ops->stream : NULL;
  if (!ops || !PD_HAS(pd_stream_ops, ops, host_kernel) || !ops->host_kernel)
    return host->fail(host, PD_UNSUPPORTED, "%s: the memory of this device is not the host's", name);
  return ops->host_kernel(device->device, stream, site, reduce, of, sizeof *of);
}
