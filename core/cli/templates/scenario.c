/* new_scenario: works on the host in each step while the device waits. Change `inject` to what yours does. */
#include <pdhost/clocks.h>
#include <pdhost/scenario_kit.h>

/* The keys of [scenario]. The type of a row follows the C type of its field: bool, int64_t, double or const char *. */
typedef struct {
  double work_ms;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, work_ms, .help = "host work in each step", .def = "5", .min = "0", .max = "10_000",
              .unit = "ms"),
};

/* Keys of the core that this scenario sets; the user's own settings win. The data stays on the device, so that loading
 * and copying it do not hide what is injected. */
static const pd_preset presets[] = {{"data.resident", "device"}, {NULL, NULL}};

/* What takes a cause out of this scenario: the verdict suggests it where it has found that cause. */
static const pd_cure cures[] = {{"host_compute", "scenario.work_ms=0"}, {NULL, NULL}};

/* The bottleneck. pd_truth_begin and pd_truth_end measure it, for truth.json; the range shows it in the trace. */
static void inject(const pd_kit *kit, double ms) {
  static pd_site site = PD_SITE("new_scenario", PD_RANGE_USER);
  const bool begun = pd_kit_range_begin(kit, &site);
  pd_truth_begin(kit->truth);
  const int64_t end = pd_monotonic_ns() + (int64_t)(ms * 1e6);
  while (pd_monotonic_ns() < end) {} /* a sleep would give the core away */
  pd_truth_end(kit->truth, 1);
  pd_kit_range_end(kit, begun);
}

/* One training step. pd_train has its parts one by one, for a bottleneck between them. The state is a pd_kit; for one
 * with more in it, begin a struct with a pd_kit, and call pd_kit_open in an init of your own. */
static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  double loss;
  pd_status status = kit->train->step(kit->train, at);
  if (status != PD_OK || !pd_step_injects(at)) return status;
  pd_truth_asked(kit->truth, opt->work_ms * 1e3, 0);
  status = kit->train->item(kit->train, &loss); /* waits for the device, which then has nothing to do */
  if (status == PD_OK) inject(kit, opt->work_ms);
  return status;
}

PD_SCENARIO("new_scenario", "1.0", "the host works in each step while the device waits", options, rows, .whole_step = 1,
            .bottleneck = "host_compute", .presets = presets, .init = pd_kit_init, .step = step,
            .teardown = pd_kit_teardown, .cures = cures)
