/* blocking_copy: small copies to pageable memory and sets that are waited for, in the middle of the step. Each returns
 * when the device has done all that was queued, as cudaMemcpy and a cudaMemset with a synchronisation do, so that the
 * device has nothing to do until the host has launched more. */
#include <pdhost/scenario_kit.h>

static const char *const kinds[] = {"both", "copy", "set", NULL};

typedef struct {
  double inject_us, inject_share;
  int64_t calls, bytes;
  const char *kind;
} options;

static const pd_option rows[] = {
    PD_KIT_DIAL(options),
    PD_OPTION(options, calls, .def = "24", .min = "0", .max = "1000", .unit = "calls",
              .help = "blocking calls of a step: in turn after the forward pass, the backward pass and the update"),
    PD_OPTION(options, bytes, .def = "4096", .min = "4", .max = "1073741824", .unit = "bytes",
              .help = "size of what each copies or sets"),
    PD_OPTION_CHOICE(options, kind, .def = "both", .choices = kinds,
                     .help = "copies to pageable memory, sets that are waited for, or both in turns"),
};

static const pd_preset presets[] = {
    {"data.resident", "device"}, {"data.image_size", "96"}, {"run.sync_timing", "false"}, {NULL, NULL}};
/* A call costs little beside what the CPU device computes: smaller steps, and more calls. */
static const pd_device_preset device_presets[] = {{"cpu", "data.batch_size", "4"},
                                                  {"cpu", "data.image_size", "8"},
                                                  {"cpu", "scenario.calls", "150"},
                                                  {NULL, NULL, NULL}};
static const pd_cure cures[] = {{"forced_sync", "scenario.calls=0"}, {NULL, NULL}};

typedef struct {
  pd_kit kit;
  pd_tensor here; /* the device's */
  void *there;    /* pageable */
} state;

static void teardown(void *state_) {
  state *s = state_;
  const options *opt = s->kit.options;
  if (s->here.data) (void)pd_kit_device_free(&s->kit, (uint64_t)opt->bytes, s->here.data);
  free(s->there);
  free(s);
}

static pd_status init(const pd_host *host, const void *opt_, void **out) {
  const options *opt = opt_;
  void *made = NULL;
  pd_status status = pd_kit_open_device(host, opt, sizeof(state), &made);
  if (status != PD_OK || !made) return status;
  state *s = made;
  s->here = (pd_tensor){.rank = 1, .shape = {opt->bytes / (int64_t)sizeof(float)}, .dtype = PD_F32};
  s->there = malloc((size_t)opt->bytes);
  if (!s->there) status = host->fail(host, PD_NO_MEMORY, "no memory for the %lld bytes to copy", (long long)opt->bytes);
  if (status == PD_OK) status = pd_kit_device_alloc(&s->kit, (uint64_t)opt->bytes, &s->here.data);
  if (status == PD_OK) {
    *out = s;
    return PD_OK;
  }
  teardown(s);
  return status;
}

static pd_status one_call(const state *s, int64_t index) {
  const options *opt = s->kit.options;
  const pd_device_access *to = s->kit.device;
  const bool sets = strcmp(opt->kind, "set") == 0 || (strcmp(opt->kind, "both") == 0 && index % 2);
  if (!sets)
    return to->ops->memory->copy(to->device, to->stream, s->there, s->here.data, (uint64_t)opt->bytes,
                                 PD_COPY_DEVICE_TO_HOST);
  const pd_status status = to->ops->tensor->fill(to->device, to->stream, &s->here, 0);
  return status == PD_OK ? to->ops->stream->synchronize(to->device, to->stream) : status;
}

/* Every third of the step's calls, from `first` on. */
static pd_status block(const state *s, int64_t first, int64_t calls) {
  uint64_t done = 0;
  pd_status status = PD_OK;
  pd_truth_begin(s->kit.truth);
  for (int64_t i = first; i < calls && status == PD_OK; i += 3, done++) status = one_call(s, i);
  pd_truth_end(s->kit.truth, done);
  return status;
}

static pd_status step(void *state_, const pd_step *at) {
  const state *s = state_;
  const options *opt = s->kit.options;
  const pd_train *train = s->kit.train;
  const int64_t calls = pd_step_injects(at) ? pd_kit_count(at, opt->calls) : 0;
  pd_tensor images;
  pd_truth_asked(s->kit.truth, -1, (uint64_t)opt->calls);
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = train->zero_grad(train);
  if (status == PD_OK) status = train->forward(train);
  if (status == PD_OK) status = block(s, 0, calls);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK) status = block(s, 1, calls);
  if (status == PD_OK) status = train->optimizer_step(train);
  return status == PD_OK ? block(s, 2, calls) : status;
}

PD_SCENARIO("blocking_copy", "1.0", "small copies and sets that block drain the device in every step", options, rows,
            .bottleneck = "forced_sync", .presets = presets, .init = init, .step = step, .teardown = teardown,
            .cures = cures, .device_presets = device_presets, .dial = "calls")
