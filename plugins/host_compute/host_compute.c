/* host_compute: the host computes between two launches, before the forward pass, while the device has nothing to do. */
#include <pdhost/clocks.h>
#include <pdhost/record.h>
#include <pdhost/scenario.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <stdlib.h>
#include <time.h>

typedef struct {
  double inject_us;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, inject_us, .def = "5000", .min = "0", .max = "1e7", .unit = "us",
              .help = "time to compute in each step"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};

static const pd_cure cures[] = {{"host_compute", "scenario.inject_us=0"}, {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_train *train;
  const pd_record *record;
  const pd_truth *truth; /* or NULL */
} state;

static pd_status init(const pd_host *host, const void *opt, void **out) {
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  s->opt = opt;
  s->train = host->extension(host, PD_EXT_TRAIN);
  s->record = host->extension(host, PD_EXT_RECORD);
  s->truth = host->extension(host, PD_EXT_TRUTH);
  if (!s->train || !s->record) {
    free(s);
    return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s) or no recorder (%s)", PD_EXT_TRAIN,
                      PD_EXT_RECORD);
  }
  *out = s;
  return PD_OK;
}

/* Spins: a sleep would give the core away. */
static void compute(const state *s) {
  static pd_site site = PD_SITE("host_compute", PD_RANGE_USER);
  const bool begun = pd_range_begin(s->record, &site, NULL);
  pd_truth_begin(s->truth);
  const int64_t until = pd_monotonic_ns() + (int64_t)(s->opt->inject_us * 1000);
  while (pd_monotonic_ns() < until) {}
  pd_truth_end(s->truth, 1);
  pd_range_end(s->record, begun);
}

static pd_status step(void *state_, const pd_step *at) {
  const state *s = state_;
  const pd_train *train = s->train;
  pd_tensor images;
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = train->zero_grad(train);
  pd_truth_asked(s->truth, s->opt->inject_us, 0);
  if (status == PD_OK && pd_step_injects(at)) compute(s);
  if (status == PD_OK) status = train->forward(train);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK) status = train->optimizer_step(train);
  return status;
}

static void teardown(void *state_) { free(state_); }

PD_SCENARIO("host_compute", "1.0", "the host computes between launches while the device waits", options, rows,
            .bottleneck = "host_compute", .presets = presets, .init = init, .step = step, .teardown = teardown,
            .cures = cures)
