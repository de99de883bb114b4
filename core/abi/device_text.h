/* A device in one phrase. [any thread] */
#ifndef CORE_ABI_DEVICE_TEXT_H
#define CORE_ABI_DEVICE_TEXT_H

#include <stddef.h>

/* "NVIDIA H200 (driver 580.159.04, CUDA 13.0)"; what the name itself says of its versions is not said again:
 * "CPU (oneDNN 2.6.3, 2 cores)". Returns `text`. */
const char *device_text(const char *name, const char *versions, char *text, size_t room);

/* Why a device could not be opened, without what was tried and without advice: "no NVIDIA driver" for "device cuda: no
 * NVIDIA driver (libcuda.so.1 could not be used); run ...". Returns `text`. */
const char *device_reason_short(const char *said, char *text, size_t room);

#endif
