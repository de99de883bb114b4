/* The events of cpu_stream_ops: pdhost/device.h says what each does. */
#ifndef CORE_DEVICES_CPU_EVENTS_H
#define CORE_DEVICES_CPU_EVENTS_H

#include "cpu_device.h"

pd_status cpu_event_create(pd_device *device, pd_event **out);
void cpu_event_destroy(pd_device *device, pd_event *event);
pd_status cpu_event_record(pd_device *device, pd_stream *stream, pd_event *event);
pd_status cpu_event_wait(pd_device *device, pd_stream *stream, pd_event *event);
pd_status cpu_event_synchronize(pd_device *device, pd_event *event);
pd_status cpu_event_elapsed_ns(pd_device *device, pd_event *start, pd_event *end, double *ns);

#endif
