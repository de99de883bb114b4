/* Programmatic dependent launch (CUDA C++ Programming Guide): from compute capability 9.0 on, a kernel that is launched
 * with attributes may begin before the kernel in front of it on its stream ends. */
#ifndef CORE_TRACE_PROGRAMMATIC_H
#define CORE_TRACE_PROGRAMMATIC_H

#include <pdhost/device.h>

#include <stdbool.h>
#include <string.h>

/* Whether a device has it; NULL, and a device whose capability is not known, may. */
static inline bool programmatic_on(const pd_device_props *device) {
  return !device || !device->compute_major || device->compute_major >= 9;
}

/* Whether a call of that name launches with attributes: cudaLaunchKernelExC, cuLaunchKernelEx. */
static inline bool programmatic_call(const char *name) {
  return strncmp(name, "cu", 2) == 0 && strstr(name, "LaunchKernelEx");
}

#endif
