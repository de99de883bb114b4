/* host_compute: the host computes between two launches, before the forward pass, while the device has nothing to do. */
#include <pdhost/clocks.h>
#include <pdhost/scenario_kit.h>

typedef struct {
  double inject_us, inject_share;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, inject_us, .def = "5000", .min = "0", .max = "1e7", .unit = "us",
              .help = "time to compute in each step"),
    PD_KIT_DIAL_SHARE(options),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};

static const pd_cure cures[] = {{"host_compute", "scenario.inject_us=0"}, {NULL, NULL}};

/* Spins: a sleep would give the core away. */
static void compute(const pd_kit *kit, double us) {
  static pd_site site = PD_SITE("host_compute", PD_RANGE_USER);
  const bool begun = pd_kit_range_begin(kit, &site);
  pd_truth_begin(kit->truth);
  const int64_t until = pd_monotonic_ns() + (int64_t)(us * 1000);
  while (pd_monotonic_ns() < until) {}
  pd_truth_end(kit->truth, 1);
  pd_kit_range_end(kit, begun);
}

static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  const pd_train *train = kit->train;
  pd_tensor images;
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = train->zero_grad(train);
  pd_truth_asked(kit->truth, opt->inject_us, 0);
  if (status == PD_OK && pd_step_injects(at)) compute(kit, pd_kit_amount(at, opt->inject_us));
  if (status == PD_OK) status = train->forward(train);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK) status = train->optimizer_step(train);
  return status;
}

PD_SCENARIO("host_compute", "1.0", "the host computes between launches while the device waits", options, rows,
            .bottleneck = "host_compute", .presets = presets, .init = pd_kit_init, .step = step,
            .teardown = pd_kit_teardown, .cures = cures, .dial = "inject_us")
