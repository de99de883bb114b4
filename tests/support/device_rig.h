/*
 * Opens a device plugin for tests and moves doubles in and out of its tensors. The plugin is PDHOST_TEST_DEVICE, a
 * path, or the CPU device of the build: the same suites run on a GPU machine with the CUDA device.
 */
#ifndef TESTS_SUPPORT_DEVICE_RIG_H
#define TESTS_SUPPORT_DEVICE_RIG_H

#include "test_host.h"

#include <pdhost/device.h>

#include <pthread.h>

typedef struct device_rig {
  test_host host;
  pd_record record;
  uint32_t enabled;
  pthread_mutex_t lock; /* of what was recorded */
  char *names[256];
  uint32_t name_count;
  pd_activity *activities;
  uint64_t activity_count, activity_room;
  pd_memory_event *memory;
  uint64_t memory_count, memory_room;
  const pd_plugin *plugin;
  const pd_device_ops *ops;
  void *options;
  pd_device *device;
  pd_stream *stream;
  uint64_t seed; /* of rig_random; printed by rig_open */
} device_rig;

/* Fails the test where the device cannot be opened. */
void rig_open(device_rig *rig);
void rig_close(device_rig *rig);
bool rig_is_cuda(const device_rig *rig);

/* The precisions and layouts to run, supported or not: F32, F16 and BF16, each in NCHW and NHWC. */
typedef struct rig_format {
  pd_dtype dtype;
  pd_layout layout;
} rig_format;
#define RIG_FORMATS 6
bool rig_format_at(const device_rig *rig, int index, rig_format *format); /* false: not supported */

/* A tensor with every byte 0xFF: not a number in F32, F16 and BF16. `dims` holds `rank` numbers. */
pd_tensor rig_tensor(device_rig *rig, pd_dtype dtype, pd_layout layout, uint32_t rank, const int64_t *dims);
void rig_free(device_rig *rig, pd_tensor *tensor);
int64_t rig_count(const pd_tensor *tensor);
/* Doubles in the plain order of the logical shape; rounds to the tensor's type and writes what it rounded to back. */
void rig_upload(device_rig *rig, const pd_tensor *tensor, double *values);
void rig_download(device_rig *rig, const pd_tensor *tensor, double *values);

/* malloc'ed, uniform in (-1, 1). */
double *rig_random(device_rig *rig, int64_t count);

/* Waits, then asserts that |out - want| <= bound * |want| (2-norms) and that every element of out is a number. */
void rig_expect(device_rig *rig, const pd_tensor *out, const double *want, double bound, const char *what);
/* A bound for `terms` products summed up in float32 from inputs of `dtype`, rounded to `dtype`: the random walk of
 * float32 rounding, 2^-24 sqrt(terms), and one rounding of the result, with a factor of 8 for unlucky signs. */
double rig_bound(pd_dtype dtype, int64_t terms);
/* Half of the distance from 1 to the next number of the type: what one rounding loses at most. */
double rig_epsilon(pd_dtype dtype);

/* Asserts PD_OK, with the device's message. */
void rig_ok(device_rig *rig, pd_status status, const char *what);
void rig_sync(device_rig *rig);

#endif
