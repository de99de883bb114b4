/* short_streams: each step makes many streams, gives each one tiny kernel, and destroys them, as code does that makes a
 * stream for each call. To make and to destroy them is the host's work around each launch, and the device waits for it:
 * the verdict has no cause of its own for that, and says launch-bound. */
#include <pdhost/scenario_kit.h>

typedef struct {
  double inject_us, inject_share;
  int64_t streams;
} options;

static const pd_option rows[] = {
    PD_KIT_DIAL(options),
    PD_OPTION(options, streams, .def = "64", .min = "0", .max = "10000", .unit = "streams",
              .help = "streams that each step makes and destroys, before the forward pass"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};
static const pd_cure cures[] = {{"launch_bound", "scenario.streams=0"}, {NULL, NULL}};

typedef struct {
  pd_kit kit;
  pd_tensor one;
  pd_event *done; /* of the last stream, which the loop's waits for */
} state;

static void teardown(void *state_) {
  state *s = state_;
  const pd_device_access *to = s->kit.device;
  if (s->done) to->ops->stream->event_destroy(to->device, s->done);
  if (s->one.data) (void)pd_kit_device_free(&s->kit, sizeof(float), s->one.data);
  free(s);
}

static pd_status init(const pd_host *host, const void *opt, void **out) {
  void *made = NULL;
  pd_status status = pd_kit_open_device(host, opt, sizeof(state), &made);
  if (status != PD_OK) return status;
  state *s = made;
  s->one = (pd_tensor){.rank = 1, .shape = {1}, .dtype = PD_F32};
  status = pd_kit_device_alloc(&s->kit, sizeof(float), &s->one.data);
  if (status == PD_OK) status = s->kit.device->ops->stream->event_create(s->kit.device->device, &s->done);
  if (status == PD_OK)
    *out = s;
  else
    teardown(s);
  return status;
}

static pd_status one_stream(const state *s) {
  const pd_device_access *to = s->kit.device;
  pd_stream *stream = NULL;
  pd_status status = to->ops->stream->create(to->device, &stream);
  if (status != PD_OK) return status;
  status = to->ops->tensor->fill(to->device, stream, &s->one, 0);
  if (status == PD_OK) status = to->ops->stream->event_record(to->device, stream, s->done);
  if (status == PD_OK) status = to->ops->stream->event_wait(to->device, to->stream, s->done);
  to->ops->stream->destroy(to->device, stream);
  return status;
}

static pd_status step(void *state_, const pd_step *at) {
  static pd_site site = PD_SITE("short streams", PD_RANGE_USER);
  const state *s = state_;
  const options *opt = s->kit.options;
  const int64_t streams = pd_step_injects(at) ? pd_kit_count(at, opt->streams) : 0;
  pd_tensor images;
  pd_truth_asked(s->kit.truth, -1, (uint64_t)opt->streams);
  pd_status status = s->kit.train->to_device(s->kit.train, at, &images);
  const bool begun = pd_kit_range_begin(&s->kit, &site);
  pd_truth_begin(s->kit.truth);
  for (int64_t i = 0; i < streams && status == PD_OK; i++) status = one_stream(s);
  pd_truth_end(s->kit.truth, (uint64_t)streams);
  pd_kit_range_end(&s->kit, begun);
  return status == PD_OK ? pd_kit_train(&s->kit) : status;
}

PD_SCENARIO("short_streams", "1.0", "each step makes many streams, uses each once and destroys it", options, rows,
            .bottleneck = "launch_bound", .presets = presets, .init = init, .step = step, .teardown = teardown,
            .cures = cures, .dial = "streams")
