/* The life of a stream: pdhost/device.h says what each function of cpu_stream_ops does. */
#ifndef CORE_DEVICES_CPU_STREAM_H
#define CORE_DEVICES_CPU_STREAM_H

#include "cpu_device.h"

pd_status cpu_stream_create(pd_device *device, pd_stream **out);
void cpu_stream_destroy(pd_device *device, pd_stream *stream);
pd_status cpu_stream_synchronize(pd_device *device, pd_stream *stream);
pd_status cpu_stream_synchronize_all(pd_device *device);

#endif
