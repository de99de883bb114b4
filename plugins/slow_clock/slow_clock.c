/* slow_clock: plays a device whose clock falls: from some step on, its work takes longer by a set time, spread over the
 * step, and the device stays busy. No cause of the verdict says so, since the program can do nothing about it: look at
 * the times of the steps in their order, and at the note on the clocks that a run on a really slowed GPU has. */
#include <pdhost/scenario_kit.h>

typedef struct {
  double inject_us, inject_share;
  int64_t from_step;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, inject_us, .def = "3000", .min = "0", .max = "1e7", .unit = "us",
              .help = "by how much the device's work of a step takes longer"),
    PD_KIT_DIAL_SHARE(options),
    PD_OPTION(options, from_step, .def = "0", .min = "0", .max = "1000000", .unit = "steps",
              .help = "the first step of the loop that is slow; 0: all are"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};

static pd_status init(const pd_host *host, const void *opt, void **out) {
  void *made = NULL;
  pd_status status = pd_kit_open_device(host, opt, sizeof(pd_kit), &made);
  if (status != PD_OK || !made) return status;
  status = pd_kit_needs_spin(made);
  if (status == PD_OK)
    *out = made;
  else
    free(made);
  return status;
}

/* A third of what the step takes longer. */
static pd_status lag(const pd_kit *kit, const pd_step *at, bool is_slow) {
  const options *opt = kit->options;
  if (!is_slow) return PD_OK;
  pd_status status = pd_truth_device_begin(kit->truth, kit->device->stream);
  if (status == PD_OK) status = pd_kit_spin(kit, pd_kit_amount(at, opt->inject_us) / 3, 1);
  return status == PD_OK ? pd_truth_device_end(kit->truth, kit->device->stream, 1) : status;
}

static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  const pd_train *train = kit->train;
  const bool in_loop = at->phase != PD_PHASE_WARMUP_STEPS;
  const bool is_slow = pd_step_injects(at) && (!in_loop || at->index >= (uint64_t)opt->from_step);
  pd_tensor images;
  pd_truth_asked(kit->truth, opt->from_step ? -1 : opt->inject_us, 0);
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = train->zero_grad(train);
  if (status == PD_OK) status = train->forward(train);
  if (status == PD_OK) status = lag(kit, at, is_slow);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK) status = lag(kit, at, is_slow);
  if (status == PD_OK) status = train->optimizer_step(train);
  return status == PD_OK ? lag(kit, at, is_slow) : status;
}

PD_SCENARIO("slow_clock", "1.0", "plays a device whose clock falls; no cause of the verdict, see the steps in order",
            options, rows, .bottleneck = "none", .presets = presets, .init = init, .step = step,
            .teardown = pd_kit_teardown, .dial = "inject_us")
