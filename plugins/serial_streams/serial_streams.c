/* serial_streams: work on streams of its own that could run beside the training step, were it not for events that make
 * each stream wait for the one before, and the training step for them all. serial = false takes the events out. */
#include <pdhost/device.h>
#include <pdhost/record.h>
#include <pdhost/scenario_kit.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <stdlib.h>

enum { STREAMS = 16 };
/* Times that differ by less than this factor are nearly the same. */
#define NEAR 1.25

typedef struct {
  double inject_us, inject_share;
  int64_t streams, kernels;
  bool serial;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, inject_us, .def = "3000", .min = "0", .max = "1e7", .unit = "us",
              .help = "device time of the work on the other streams, in each step and all together"),
    PD_KIT_DIAL_SHARE(options),
    PD_OPTION(options, streams, .def = "1", .min = "1", .max = "16", .unit = "streams",
              .help = "streams beside the one that trains"),
    PD_OPTION(options, kernels, .def = "4", .min = "1", .max = "1000", .unit = "kernels",
              .help = "kernels in each step on each of them"),
    PD_OPTION(options, serial, .def = "true", .help = "one stream waits for the other; false: all run side by side"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};
static const pd_cure cures[] = {{"serial_streams", "scenario.serial=false scenario.inject_share=0"}, {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_train *train;
  const pd_device_access *access;
  const pd_record *record;
  const pd_truth *truth; /* or NULL */
  pd_event *begun;
  struct {
    pd_stream *stream;
    /* Before its kernels, where the streams run one after the other: on either side of the event of the truth's span.
     * The first kernel waits for the host's calls, so that a span from either alone is off by one of them. */
    pd_event *timed[2];
    pd_event *done;
  } side[STREAMS];
  double inject_us; /* of this step */
  double kernel_ns; /* to ask of a kernel, so that all take inject_us with what lies between them */
  bool measures;    /* the last step's kernels have not been held against inject_us */
} state;

static void teardown(void *state_) {
  state *s = state_;
  const pd_stream_ops *ops = s->access->ops->stream;
  pd_device *device = s->access->device;
  for (int i = 0; i < STREAMS; i++) {
    if (s->side[i].stream) ops->destroy(device, s->side[i].stream);
    for (int k = 0; k < 2; k++)
      if (s->side[i].timed[k]) ops->event_destroy(device, s->side[i].timed[k]);
    if (s->side[i].done) ops->event_destroy(device, s->side[i].done);
  }
  if (s->begun) ops->event_destroy(device, s->begun);
  free(s);
}

static pd_status init(const pd_host *host, const void *opt, void **out) {
  const pd_train *train = host->extension(host, PD_EXT_TRAIN);
  const pd_device_access *access = host->extension(host, PD_EXT_DEVICE);
  const pd_record *record = host->extension(host, PD_EXT_RECORD);
  if (!train || !access || !record)
    return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s), no device (%s) or no recorder (%s)",
                      PD_EXT_TRAIN, PD_EXT_DEVICE, PD_EXT_RECORD);
  if (!PD_HAS(pd_tensor_ops, access->ops->tensor, spin) || !access->ops->tensor->spin)
    return host->fail(host, PD_UNSUPPORTED, "this device has no operation that only takes time (spin)");
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  *s = (state){.opt = opt, .train = train, .access = access, .record = record};
  s->truth = host->extension(host, PD_EXT_TRUTH);
  const pd_stream_ops *ops = access->ops->stream;
  pd_status status = ops->event_create(access->device, &s->begun);
  for (int64_t i = 0; status == PD_OK && i < s->opt->streams; i++) {
    status = ops->create(access->device, &s->side[i].stream);
    for (int k = 0; status == PD_OK && k < 2; k++) status = ops->event_create(access->device, &s->side[i].timed[k]);
    if (status == PD_OK) status = ops->event_create(access->device, &s->side[i].done);
  }
  if (status != PD_OK) {
    teardown(s);
    return status;
  }
  *out = s;
  return PD_OK;
}

/* What the last step's kernels took too long, with what lies between them, is taken off each of the next; half of it,
 * so that one stall does not make the next step too short. Where the device is not done with them yet, nothing is: to
 * wait for it would be a cause of its own. */
static void correct(state *s) {
  const pd_stream_ops *ops = s->access->ops->stream;
  double all_ns = 0, one_ns = 0;
  s->measures = false;
  for (int64_t i = 0; i < 2 * s->opt->streams; i++) {
    if (ops->event_elapsed_ns(s->access->device, s->side[i / 2].timed[i % 2], s->side[i / 2].done, &one_ns) != PD_OK)
      return;
    all_ns += 0.5 * one_ns;
  }
  const double kernels = (double)(s->opt->streams * s->opt->kernels), asked_ns = s->inject_us * 1000 / kernels;
  s->kernel_ns -= 0.5 * (all_ns / kernels - asked_ns);
  if (s->kernel_ns > asked_ns) s->kernel_ns = asked_ns;
  if (s->kernel_ns < 0) s->kernel_ns = 0;
}

/* The dial gives another time to each of its trials. A time that is nearly the same keeps what the last steps told. */
static void ask_for(state *s, double us) {
  const double kernels = (double)(s->opt->streams * s->opt->kernels);
  const bool is_near = us > s->inject_us / NEAR && us < s->inject_us * NEAR;
  if (us == s->inject_us) return;
  s->kernel_ns = is_near ? s->kernel_ns + (us - s->inject_us) * 1000 / kernels : us * 1000 / kernels;
  if (s->kernel_ns < 0) s->kernel_ns = 0;
  if (!is_near) s->measures = false;
  s->inject_us = us;
}

/* One stream's share: begins with the step, or after the stream before. */
static pd_status side_work(const state *s, int64_t i, bool serial) {
  const pd_device_ops *ops = s->access->ops;
  pd_device *device = s->access->device;
  pd_stream *stream = s->side[i].stream;
  pd_status status = ops->stream->event_wait(device, stream, serial && i ? s->side[i - 1].done : s->begun);
  if (status == PD_OK && serial) status = ops->stream->event_record(device, stream, s->side[i].timed[0]);
  if (status == PD_OK && serial) status = pd_truth_device_begin(s->truth, stream);
  if (status == PD_OK && serial) status = ops->stream->event_record(device, stream, s->side[i].timed[1]);
  for (int64_t k = 0; status == PD_OK && k < s->opt->kernels; k++)
    status = ops->tensor->spin(device, stream, (int64_t)s->kernel_ns);
  if (status == PD_OK) status = ops->stream->event_record(device, stream, s->side[i].done);
  if (status == PD_OK && serial) status = pd_truth_device_end(s->truth, stream, (uint64_t)s->opt->kernels);
  return status;
}

static pd_status all_side_work(const state *s, bool serial) {
  static pd_site site = PD_SITE("side streams", PD_RANGE_USER);
  const bool begun = pd_range_begin(s->record, &site, NULL);
  pd_status status = s->access->ops->stream->event_record(s->access->device, s->access->stream, s->begun);
  for (int64_t i = 0; status == PD_OK && i < s->opt->streams; i++) status = side_work(s, i, serial);
  pd_range_end(s->record, begun);
  return status;
}

/* What the training stream does next waits for the others. */
static pd_status join(const state *s) {
  pd_status status = PD_OK;
  for (int64_t i = 0; status == PD_OK && i < s->opt->streams; i++)
    status = s->access->ops->stream->event_wait(s->access->device, s->access->stream, s->side[i].done);
  return status;
}

static pd_status step(void *state_, const pd_step *at) {
  state *s = state_;
  const bool serial = s->opt->serial && pd_step_injects(at);
  pd_truth_asked(s->truth, s->opt->serial ? s->opt->inject_us : 0, 0);
  if (s->measures) correct(s);
  /* Side by side the work makes no step longer, so that no amount of it is what a share asks for. */
  ask_for(s, s->opt->serial ? pd_kit_amount(at, s->opt->inject_us) : s->opt->inject_us);
  pd_status status = all_side_work(s, serial);
  s->measures = status == PD_OK && serial;
  if (status == PD_OK && serial) status = join(s);
  if (status == PD_OK) status = s->train->step(s->train, at);
  if (status == PD_OK && !serial) status = join(s); /* or the other streams would fall behind */
  return status;
}

PD_SCENARIO("serial_streams", "1.0", "work that could overlap on streams waits for one another", options, rows,
            .whole_step = 1, .bottleneck = "serial_streams", .presets = presets, .init = init, .step = step,
            .teardown = teardown, .cures = cures, .dial = "inject_us")
