/* sync: reads the loss back to the host right after the forward pass, so that the device runs dry until the backward
 * pass is launched. Its cost shows in the step time with [run] sync_timing = false. */
#include <pdhost/scenario.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <stdlib.h>

typedef struct {
  int64_t reads_per_step;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, reads_per_step, .def = "1", .min = "0", .max = "1000", .unit = "reads",
              .help = "blocking reads of the loss after each forward pass"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "host"}, {NULL, NULL}};

static const pd_cure cures[] = {{"forced_sync", "scenario.reads_per_step=0"}, {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_train *train;
  const pd_truth *truth; /* or NULL */
} state;

static pd_status init(const pd_host *host, const void *opt, void **out) {
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  s->opt = opt;
  s->train = host->extension(host, PD_EXT_TRAIN);
  s->truth = host->extension(host, PD_EXT_TRUTH);
  if (!s->train) {
    free(s);
    return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
  }
  *out = s;
  return PD_OK;
}

static pd_status step(void *state_, const pd_step *at) {
  const state *s = state_;
  const pd_train *train = s->train;
  const int64_t reads = pd_step_injects(at) ? s->opt->reads_per_step : 0;
  double loss;
  pd_tensor images;
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = train->zero_grad(train);
  if (status == PD_OK) status = train->forward(train);
  pd_truth_asked(s->truth, -1, (uint64_t)s->opt->reads_per_step);
  pd_truth_begin(s->truth);
  for (int64_t i = 0; i < reads && status == PD_OK; i++) status = train->item(train, &loss);
  pd_truth_end(s->truth, (uint64_t)reads);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK) status = train->optimizer_step(train);
  return status;
}

static void teardown(void *state_) { free(state_); }

PD_SCENARIO("sync", "1.0", "a blocking read of the loss drains the device in every step", options, rows,
            .bottleneck = "forced_sync", .presets = presets, .init = init, .step = step, .teardown = teardown,
            .cures = cures)
