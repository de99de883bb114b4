/*
 * The training kit on a real device and a real recorder, for suites of the kit and of scenarios. The device plugin is
 * PDHOST_TEST_DEVICE, a path, or the build's CPU device.
 *
 * A window is what the host's loop makes of one, without schedule and sinks: trace_begin, steps, trace_end.
 */
#ifndef TESTS_SUPPORT_TRAIN_RIG_H
#define TESTS_SUPPORT_TRAIN_RIG_H

#include "kit_reads.h"
#include "test_host.h"

#include "trace/recorder.h"
#include "train/context.h"
#include "train/train_kit.h"

typedef struct train_rig {
  test_host host;
  recorder *recorder;
  const pd_record *record;
  const pd_plugin *plugin;
  void *options;
  pd_device_ops ops; /* the plugin's, with allocations that can be made to fail */
  pd_memory_ops memory;
  pd_device_access access;
  pd_device_props props;
  train_kit *kit;
  const pd_train *train;
  bool attached;
  uint64_t step_count; /* of the open window */
  uint64_t previous_end_ticks;
} train_rig;

void train_rig_open(train_rig *rig);
void train_rig_close(train_rig *rig); /* the kit too */

/* What the kit's own modules take, in float32 and NCHW. */
train_context train_rig_context(const train_rig *rig);
/* The default configuration with tf32 off; change it and open the kit. */
train_config train_rig_config(void);
pd_status train_rig_kit(train_rig *rig, const train_config *config);

/* From now on the device's allocation number `n` and all later ones fail; 0: none. */
void train_rig_fail_allocation(uint64_t n);
uint64_t train_rig_allocations(void); /* since the rig was opened */

/* Asserts PD_OK, with the message. */
void train_rig_ok(train_rig *rig, pd_status status, const char *what);

/* Whether two arrays hold the same bits. */
bool train_rig_same(const void *a, const void *b, size_t bytes);
/* The rig's batches are its own to write. */
void *train_rig_writable(const void *data);

/* A batch whose images are `value` counted up by a generator and whose labels are 0, 1, 2 ...; free() its images. */
pd_batch train_rig_batch(int64_t count, int64_t size, uint64_t seed);
void train_rig_batch_free(pd_batch *batch);

void train_rig_trace_begin(train_rig *rig);
/* Around one step of the window: everything between counts as the step. */
void train_rig_step_begin(train_rig *rig);
void train_rig_step_end(train_rig *rig);
/* The window as a trace; free it with trace_free(). Asserts full coverage and no loss. */
pd_trace *train_rig_trace_end(train_rig *rig);

/* Counts in a trace. */
uint64_t trace_ranges(const pd_trace *trace, const char *name);
const pd_range *trace_range(const pd_trace *trace, const char *name,
                            uint64_t nth); /* fails the test if there is none */
uint64_t trace_calls(const pd_trace *trace, pd_api_class api);
uint64_t trace_kernels(const pd_trace *trace);
uint64_t trace_copies(const pd_trace *trace, pd_memory_kind from, pd_memory_kind to);
/* Device allocations of at least `bytes`. */
uint64_t trace_allocations(const pd_trace *trace, int64_t bytes);

#endif
