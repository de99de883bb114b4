/* small_batch: the samples of a step go through the model in many small passes whose gradients add up, in place of one
 * large one: as many samples, many times the launches. passes = 1 is the cure. */
#include <pdhost/scenario_kit.h>

typedef struct {
  double inject_us, inject_share;
  int64_t passes;
} options;

static const pd_option rows[] = {
    PD_KIT_DIAL(options),
    PD_OPTION(options, passes, .def = "16", .min = "1", .max = "65536", .unit = "passes",
              .help = "forward and backward passes that share the samples of a step; at most one per sample"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};
static const pd_cure cures[] = {{"small_batch", "scenario.passes=1"}, {NULL, NULL}};

static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  const pd_train *train = kit->train;
  const int64_t samples = at->batch->count, asked = pd_kit_count(at, opt->passes);
  const int64_t most = asked < samples ? asked : samples;
  const int64_t passes = pd_step_injects(at) ? most : 1;
  pd_tensor images;
  pd_truth_asked(kit->truth, -1, (uint64_t)most - 1);
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = train->zero_grad(train);
  for (int64_t pass = 0, from = 0; status == PD_OK && pass < passes; pass++) {
    const int64_t to = samples * (pass + 1) / passes;
    status = train->narrow(train, from, to - from);
    if (status == PD_OK) status = train->forward(train);
    if (status == PD_OK) status = train->backward(train);
    from = to;
  }
  if (status == PD_OK) status = train->optimizer_step(train);
  pd_truth_count(kit->truth, (uint64_t)passes - 1);
  return status;
}

PD_SCENARIO("small_batch", "1.0", "the samples of a step go through the model in many small passes", options, rows,
            .bottleneck = "small_batch", .presets = presets, .init = pd_kit_init, .step = step,
            .teardown = pd_kit_teardown, .cures = cures, .dial = "passes", .dial_none = 1)
