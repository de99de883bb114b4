/*
 * What scenarios over the training kit have in common: a state, the services that they ask for, the parts of a step,
 * temporaries. A scenario without a state of its own needs step() alone:
 *
 *   static pd_status step(void *state, const pd_step *at) {
 *     const pd_kit *kit = state;
 *     const options *opt = kit->options;
 *     ...
 *     return kit->train->step(kit->train, at);
 *   }
 *   PD_SCENARIO(..., .init = pd_kit_init, .step = step, .teardown = pd_kit_teardown)
 *
 * One with more begins its struct with a pd_kit and calls pd_kit_open in an init of its own.
 */
#ifndef PDHOST_SCENARIO_KIT_H
#define PDHOST_SCENARIO_KIT_H

#include "communicator.h"
#include "record.h"
#include "scenario.h"
#include "train.h"
#include "truth.h"

#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_kit {
  const pd_host *host;
  const void *options;            /* the plugin's options struct */
  const pd_train *train;          /* never NULL */
  const pd_record *record;        /* NULL: this host records nothing; pd_kit_range_begin looks */
  const pd_truth *truth;          /* NULL: this host writes no truth.json; the functions of truth.h look */
  const pd_ranks *ranks;          /* NULL: a run of one rank */
  const pd_device_access *device; /* NULL: this host offers none; pd_kit_open_device looks */
} pd_kit;

/* Makes a state of `bytes`, all zero, whose first member is a pd_kit, and fills that. On failure, with its message,
 * *state stays NULL. [loop thread & init] */
static inline pd_status pd_kit_open(const pd_host *host, const void *options, size_t bytes, void **state) {
  const pd_train *train = (const pd_train *)host->extension(host, PD_EXT_TRAIN);
  if (!train) return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
  pd_kit *kit = (pd_kit *)calloc(1, bytes);
  if (!kit) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  kit->host = host;
  kit->options = options;
  kit->train = train;
  kit->record = (const pd_record *)host->extension(host, PD_EXT_RECORD);
  kit->truth = (const pd_truth *)host->extension(host, PD_EXT_TRUTH);
  kit->ranks = (const pd_ranks *)host->extension(host, PD_EXT_RANKS);
  kit->device = (const pd_device_access *)host->extension(host, PD_EXT_DEVICE);
  *state = kit;
  return PD_OK;
}

/* For a scenario whose whole state is a pd_kit. */
static inline pd_status pd_kit_init(const pd_host *host, const void *options, void **state) {
  return pd_kit_open(host, options, sizeof(pd_kit), state);
}

/* pd_kit_open for a scenario that cannot do without the device's own functions. [loop thread & init] */
static inline pd_status pd_kit_open_device(const pd_host *host, const void *options, size_t bytes, void **state) {
  const pd_status status = pd_kit_open(host, options, bytes, state);
  if (status != PD_OK || !*state || ((pd_kit *)*state)->device) return status;
  free(*state);
  *state = NULL;
  return host->fail(host, PD_UNSUPPORTED, "this host has no device (%s)", PD_EXT_DEVICE);
}

static inline void pd_kit_teardown(void *state) { free(state); }

/* A plain training step: for a scenario whose bottleneck is in its presets. */
static inline pd_status pd_kit_step(void *state, const pd_step *at) {
  const pd_kit *kit = (const pd_kit *)state;
  return kit->train->step(kit->train, at);
}

/* What follows to_device in a step: zero_grad, forward, backward, optimizer_step. */
static inline pd_status pd_kit_train(const pd_kit *kit) {
  pd_status status = kit->train->zero_grad(kit->train);
  if (status == PD_OK) status = kit->train->forward(kit->train);
  if (status == PD_OK) status = kit->train->backward(kit->train);
  return status == PD_OK ? kit->train->optimizer_step(kit->train) : status;
}

/* The range of what is injected, for the trace: give pd_kit_range_end what pd_kit_range_begin returned. */
static inline bool pd_kit_range_begin(const pd_kit *kit, pd_site *site) {
  return kit->record && pd_range_begin(kit->record, site, NULL);
}
static inline void pd_kit_range_end(const pd_kit *kit, bool begun) {
  if (kit->record) pd_range_end(kit->record, begun);
}

/* Rows of the keys inject_us and inject_share, two doubles of the options struct: how much time what is injected is to
 * take in a step. The host tries steps with it and without it, and finds the value of the key that `dial` names: steps
 * take it from pd_kit_count. */
#define PD_KIT_DIAL(T)                                                                                                 \
  PD_OPTION(T, inject_us, .def = "0", .min = "0", .max = "1e7", .unit = "us",                                          \
            .help = "make the step this much longer, measured against steps without; 0: the count says how much"),     \
      PD_KIT_DIAL_SHARE(T)
#define PD_KIT_DIAL_SHARE(T)                                                                                           \
  PD_OPTION(T, inject_share, .def = "0", .min = "0", .max = "0.95",                                                    \
            .help = "make this share of the step out of what is injected, measured against steps without; 0: off")

/* The value of the key that `dial` names: what the host found, or else `set`. */
static inline double pd_kit_amount(const pd_step *at, double set) {
  return PD_HAS(pd_step, at, amount) && at->dialled ? at->amount : set;
}
/* The same for a count. Steps have the next smaller or the next larger number, so that the mean is right. */
static inline int64_t pd_kit_count(const pd_step *at, int64_t set) {
  const double amount = pd_kit_amount(at, (double)set);
  return (int64_t)(amount * (double)(at->index + 1)) - (int64_t)(amount * (double)at->index);
}

/* The allocators, as values of an option: PD_OPTION_CHOICE(options, allocator, .choices = pd_allocator_names, ...). */
static const char *const pd_allocator_names[] = {"cached", "pool", "raw", NULL};
static inline pd_allocator pd_allocator_named(const char *name) {
  return strcmp(name, "raw") == 0    ? (pd_allocator)PD_ALLOCATOR_RAW
         : strcmp(name, "pool") == 0 ? (pd_allocator)PD_ALLOCATOR_POOL
                                     : (pd_allocator)PD_ALLOCATOR_CACHED;
}

/* `count` tensors of one number each, not set. `out` is zeroed before. The kit's caching allocator has them; free them
 * with pd_kit_free, after a failure too: those that were not made have no data. */
static inline pd_status pd_kit_scalars(const pd_kit *kit, pd_tensor *out, int64_t count) {
  pd_status status = PD_OK;
  pd_tensor like;
  memset(&like, 0, sizeof like);
  like.rank = 1;
  like.shape[0] = 1;
  like.dtype = PD_F32;
  for (int64_t i = 0; i < count && status == PD_OK; i++)
    status = kit->train->empty_like(kit->train, &like, PD_ALLOCATOR_CACHED, &out[i]);
  return status;
}

/* `count` tensors of `like`'s shape with random numbers. `out` is zeroed before; free them as those above. */
static inline pd_status pd_kit_randn_like(const pd_kit *kit, const pd_tensor *like, pd_allocator allocator,
                                          pd_tensor *out, int64_t count) {
  pd_status status = PD_OK;
  for (int64_t i = 0; i < count && status == PD_OK; i++) {
    status = kit->train->empty_like(kit->train, like, allocator, &out[i]);
    if (status == PD_OK) status = kit->train->randn(kit->train, &out[i]);
  }
  return status;
}

/* Device memory of the scenario, from the plain allocator. The kit has a device. */
static inline pd_status pd_kit_device_alloc(const pd_kit *kit, uint64_t bytes, void **out) {
  const pd_device_access *to = kit->device;
  return to->ops->memory->alloc(to->device, to->stream, PD_ALLOCATOR_RAW, bytes, out);
}
static inline pd_status pd_kit_device_free(const pd_kit *kit, uint64_t bytes, void *data) {
  const pd_device_access *to = kit->device;
  return to->ops->memory->free(to->device, to->stream, PD_ALLOCATOR_RAW, bytes, data);
}

/* A scenario that calls pd_kit_spin asks this at init. The kit has a device. */
static inline pd_status pd_kit_needs_spin(const pd_kit *kit) {
  const pd_tensor_ops *ops = kit->device->ops->tensor;
  if (PD_HAS(pd_tensor_ops, ops, spin) && ops->spin) return PD_OK;
  return kit->host->fail(kit->host, PD_UNSUPPORTED, "this device has no operation that only takes time (spin)");
}
/* `count` kernels on the loop's stream that only take time, `us` together. */
static inline pd_status pd_kit_spin(const pd_kit *kit, double us, int64_t count) {
  const pd_device_access *to = kit->device;
  pd_status status = PD_OK;
  for (int64_t i = 0; i < count && status == PD_OK; i++)
    status = to->ops->tensor->spin(to->device, to->stream, (int64_t)(us * 1000 / (double)count));
  return status;
}

/* Frees those of `count` tensors that have data, whatever happened before. Returns `status` where that is a failure,
 * else the first failure to free one. */
static inline pd_status pd_kit_free(const pd_kit *kit, pd_allocator allocator, pd_tensor *tensors, int64_t count,
                                    pd_status status) {
  for (int64_t i = 0; i < count; i++) {
    if (!tensors[i].data) continue;
    const pd_status freed = kit->train->tensor_free(kit->train, allocator, &tensors[i]);
    tensors[i].data = NULL;
    if (status == PD_OK) status = freed;
  }
  return status;
}

#ifdef __cplusplus
}
#endif
#endif
