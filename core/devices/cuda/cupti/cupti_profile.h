/*
 * Profiling of the CUDA device: pd_profile_ops without the pd_device. The device owns one cuda_profile, opens it with
 * the device and forwards each member of pd_profile_ops to the function of the same name here.
 *
 * Nothing of CUPTI is loaded before cuda_profile_attach(). Every function is the loop thread's. No function fails a run
 * that can go on: what cannot be had becomes a lesser mode and a note.
 */
#ifndef DEVICES_CUDA_PROFILE_H
#define DEVICES_CUDA_PROFILE_H

#include <pdhost/device.h>

typedef struct cuda_profile cuda_profile;

/* Two marks of device time, for the runs without CUPTI. `context` is the device's; both may be NULL. */
typedef struct cuda_profile_events {
  void *context;
  /* Records mark 0 (a window starts) or 1 (it stops) on the stream the work runs on; asynchronous. */
  pd_status (*mark)(void *context, uint32_t which);
  /* Waits for mark 1; nanoseconds of device time from mark 0 to it. */
  pd_status (*elapsed_ns)(void *context, double *ns);
} cuda_profile_events;

/* The device's own options that belong to the profiling; the device's options struct holds them by value. */
typedef struct cuda_profile_settings {
  const char *cupti_between; /* auto, keep, disable, detach */
  const char *cupti_library; /* path of libcupti.so, "" to look for it */
  int64_t cupti_memory;      /* most bytes of record buffers */
} cuda_profile_settings;

/* Rows for the device's option table; `T` has the three fields above under the same names. */
#define CUDA_PROFILE_ROWS(T)                                                                                           \
  PD_OPTION_CHOICE(T, cupti_between, .def = "auto",                                                                    \
                   .choices = (const char *const[]){"auto", "keep", "disable", "detach", NULL},                        \
                   .help = "what becomes of CUPTI between two profiled windows"),                                      \
      PD_OPTION_PATH(T, cupti_library, .def = "", .help = "path of libcupti.so; empty: the usual places"),             \
      PD_OPTION_BYTES(T, cupti_memory, .def = "1GiB", .min = "16MiB", .max = "64GiB", .unit = "bytes",                 \
                      .help = "most host memory for CUPTI's record buffers; what does not fit is counted as dropped")

typedef struct cuda_profile_config {
  const pd_host *host;
  const pd_record *record;      /* host->extension(host, PD_EXT_RECORD); NULL: records are not wanted */
  const pd_device_props *props; /* for occupancy; borrowed until cuda_profile_close */
  cuda_profile_settings settings;
  cuda_profile_events events;
} cuda_profile_config;

/* Reserves nothing but its own state. */
pd_status cuda_profile_open(const cuda_profile_config *config, cuda_profile **out);
/* Detaches if that has not been done. NULL is fine. */
void cuda_profile_close(cuda_profile *self);

pd_status cuda_profile_attach(cuda_profile *self, const pd_profile_options *options);
pd_status cuda_profile_start(cuda_profile *self);
pd_status cuda_profile_stop(cuda_profile *self);
pd_status cuda_profile_drain(cuda_profile *self, int64_t timeout_ns);
pd_status cuda_profile_detach(cuda_profile *self);
pd_status cuda_profile_status(cuda_profile *self, pd_profile_status *status);

/* CUPTI's version as it numbers itself (130001), or 0 while none is loaded. */
uint32_t cuda_profile_cupti_version(const cuda_profile *self);

#endif
