/* Profiling of the CPU device: a flag. The records are made where the work is launched and done. */
#include "cpu_device.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <time.h>

static pd_status attach(pd_device *device, const pd_profile_options *options) {
  atomic_store(&device->profile_memory, options->profile_memory != 0);
  return PD_OK;
}

static pd_status start(pd_device *device) {
  atomic_store(&device->recording, true);
  return PD_OK;
}

static pd_status stop(pd_device *device) {
  atomic_store(&device->recording, false);
  return PD_OK;
}

static pd_status drain(pd_device *device, int64_t timeout_ns) {
  const struct timespec until = pd_clock_after(CLOCK_REALTIME, timeout_ns);
  const uint64_t wanted = atomic_load(&device->recorded_launches);
  pthread_mutex_lock(&device->drain_lock);
  while (atomic_load(&device->recorded_done) < wanted)
    if (pthread_cond_timedwait(&device->drained, &device->drain_lock, &until) == ETIMEDOUT) break;
  pthread_mutex_unlock(&device->drain_lock);
  return PD_OK;
}

static pd_status detach(pd_device *device) { return stop(device); }

static pd_status status(pd_device *device, pd_profile_status *out) {
  out->mode = device->record ? PD_PROFILE_FULL : PD_PROFILE_NONE;
  out->dropped = out->zero_stamped = out->implausible = 0;
  out->note = device->record ? NULL : "the host has no recorder";
  return PD_OK;
}

const pd_profile_ops cpu_profile_ops = {.size = sizeof(pd_profile_ops),
                                        .attach = attach,
                                        .start = start,
                                        .stop = stop,
                                        .drain = drain,
                                        .detach = detach,
                                        .status = status};
