/* pageable_copy: copies from pageable host memory to the device before each step. The runtime stages them, so that the
 * host waits for each and the device does nothing else. */
#include <pdhost/clocks.h>
#include <pdhost/device.h>
#include <pdhost/scenario_kit.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_BYTES = 4096 /* a smaller copy takes no less time */ };

typedef struct {
  int64_t copies, bytes;
  double inject_us, inject_share;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, copies, .def = "8", .min = "0", .max = "100000", .unit = "copies",
              .help = "copies in each step"),
    PD_OPTION(options, bytes, .def = "4194304", .min = "1", .max = "1073741824", .unit = "bytes",
              .help = "size of each copy"),
    PD_OPTION(options, inject_us, .def = "0", .min = "0", .max = "1e7", .unit = "us",
              .help = "copy for this long in each step, whatever `copies` says; 0: `copies` counts"),
    PD_KIT_DIAL_SHARE(options),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};

static const pd_cure cures[] = {{"pageable_copy", "scenario.inject_us=0 scenario.inject_share=0 scenario.copies=0"},
                                {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_train *train;
  const pd_device_access *device;
  const pd_truth *truth; /* or NULL */
  void *from;            /* pageable */
  void *to;              /* the device's */
  int64_t owed_ns;       /* of inject_us so far; below 0: copied too long */
  double bytes_per_ns;   /* of the last copy; 0: none yet */
} state;

static void teardown(void *state_) {
  state *s = state_;
  if (s->to)
    (void)s->device->ops->memory->free(s->device->device, s->device->stream, PD_ALLOCATOR_RAW, (uint64_t)s->opt->bytes,
                                       s->to);
  free(s->from);
  free(s);
}

static pd_status init(const pd_host *host, const void *opt, void **out) {
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  s->opt = opt;
  s->train = host->extension(host, PD_EXT_TRAIN);
  s->device = host->extension(host, PD_EXT_DEVICE);
  s->truth = host->extension(host, PD_EXT_TRUTH);
  if (!s->train || !s->device) {
    free(s);
    return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s) or no device (%s)", PD_EXT_TRAIN,
                      PD_EXT_DEVICE);
  }
  pd_status status = PD_OK;
  s->from = malloc((size_t)s->opt->bytes);
  if (!s->from)
    status = host->fail(host, PD_NO_MEMORY, "no memory for the %lld bytes to copy", (long long)s->opt->bytes);
  if (status == PD_OK)
    status = s->device->ops->memory->alloc(s->device->device, s->device->stream, PD_ALLOCATOR_RAW,
                                           (uint64_t)s->opt->bytes, &s->to);
  if (status != PD_OK) {
    teardown(s);
    return status;
  }
  memset(s->from, 1, (size_t)s->opt->bytes); /* pages that were never touched would all be the zero page */
  *out = s;
  return PD_OK;
}

static pd_status one_copy(const state *s, int64_t bytes) {
  return s->device->ops->memory->copy(s->device->device, s->device->stream, s->to, s->from, (uint64_t)bytes,
                                      PD_COPY_HOST_TO_DEVICE);
}

/* What fits into `left_ns` at the speed of the last copy. */
static int64_t fitting(const state *s, int64_t left_ns) {
  const double bytes = s->bytes_per_ns * (double)left_ns;
  if (s->bytes_per_ns <= 0 || bytes >= (double)s->opt->bytes) return s->opt->bytes;
  const int64_t least = s->opt->bytes < LEAST_BYTES ? s->opt->bytes : LEAST_BYTES;
  return bytes < (double)least ? least : (int64_t)bytes;
}

static pd_status copy_for_a_time(state *s, double us, uint64_t *done) {
  pd_status status = PD_OK;
  const int64_t start = pd_monotonic_ns(), wanted = (int64_t)(us * 1000);
  int64_t at = start;
  s->owed_ns += wanted; /* what the step before took too long is taken off this one */
  while (status == PD_OK && at - start < s->owed_ns) {
    const int64_t bytes = fitting(s, s->owed_ns - (at - start)), from = at;
    status = one_copy(s, bytes);
    at = pd_monotonic_ns();
    if (at > from) s->bytes_per_ns = (double)bytes / (double)(at - from);
    ++*done;
  }
  s->owed_ns -= at - start;
  if (s->owed_ns < -wanted) s->owed_ns = -wanted; /* a stall of the machine is not made up for in many steps */
  return status;
}

static pd_status copy(state *s, double us) {
  uint64_t done = 0;
  pd_status status = PD_OK;
  pd_truth_begin(s->truth);
  if (us > 0)
    status = copy_for_a_time(s, us, &done);
  else
    for (; status == PD_OK && done < (uint64_t)s->opt->copies; done++) status = one_copy(s, s->opt->bytes);
  pd_truth_end(s->truth, done);
  return status;
}

static pd_status step(void *state_, const pd_step *at) {
  state *s = state_;
  const double us = pd_kit_amount(at, s->opt->inject_us);
  pd_truth_asked(s->truth, us > 0 ? s->opt->inject_us : -1, us > 0 ? 0 : (uint64_t)s->opt->copies);
  const pd_status status = pd_step_injects(at) ? copy(s, us) : (pd_status)PD_OK;
  return status == PD_OK ? s->train->step(s->train, at) : status;
}

PD_SCENARIO("pageable_copy", "1.0", "copies from pageable memory hold up host and device", options, rows,
            .whole_step = 1, .bottleneck = "pageable_copy", .presets = presets, .init = init, .step = step,
            .teardown = teardown, .cures = cures, .dial = "inject_us")
