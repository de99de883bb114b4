/* The table of the CPU device's streams, and kernels of the host in them. */
#include "cpu_events.h"
#include "cpu_stream.h"

#include <string.h>

typedef struct host_arguments {
  pd_host_kernel run;
  _Alignas(16) unsigned char bytes[PD_HOST_KERNEL_BYTES];
} host_arguments;

static pd_status run_host(pd_stream *stream, void *arguments) {
  const host_arguments *host = arguments;
  char message[sizeof stream->message] = "";
  const pd_status status = host->run(host->bytes, message, sizeof message);
  return status == PD_OK ? PD_OK : cpu_stream_fail(stream, status, "%s", message);
}

static pd_status host_kernel(pd_device *device, pd_stream *stream, pd_site *name, pd_host_kernel run,
                             const void *arguments, uint64_t bytes) {
  host_arguments host = {.run = run};
  if (bytes > sizeof host.bytes)
    return device->host->fail(device->host, PD_INVALID, "a host kernel's arguments are %llu bytes",
                              (unsigned long long)bytes);
  if (bytes) memcpy(host.bytes, arguments, bytes);
  return cpu_stream_kernel(stream, name, run_host, &host, sizeof host);
}

const pd_stream_ops cpu_stream_ops = {.size = sizeof(pd_stream_ops),
                                      .create = cpu_stream_create,
                                      .destroy = cpu_stream_destroy,
                                      .synchronize = cpu_stream_synchronize,
                                      .device_synchronize = cpu_stream_synchronize_all,
                                      .event_create = cpu_event_create,
                                      .event_destroy = cpu_event_destroy,
                                      .event_record = cpu_event_record,
                                      .event_wait = cpu_event_wait,
                                      .event_synchronize = cpu_event_synchronize,
                                      .event_elapsed_ns = cpu_event_elapsed_ns,
                                      .host_kernel = host_kernel};
