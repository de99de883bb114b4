/* low_occupancy: kernels of one thread in each step, which keep a whole GPU waiting for one of its multiprocessors. The
 * device counts as busy, so that no cause of the verdict says so: look at the columns Blocks/SM and occupancy of the
 * kernels. */
#include <pdhost/scenario_kit.h>

typedef struct {
  double inject_us, inject_share;
  int64_t kernels;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, inject_us, .def = "3000", .min = "0", .max = "1e7", .unit = "us",
              .help = "device time of the kernels of one thread, in each step and all together"),
    PD_KIT_DIAL_SHARE(options),
    PD_OPTION(options, kernels, .def = "8", .min = "1", .max = "1000", .unit = "kernels",
              .help = "how many share it; each should take 10 us and more"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};

/* What only a GPU can show is refused in words: the rest of the run is what it is anywhere. */
static void tell(const pd_kit *kit) {
  pd_device_props props = {.size = sizeof props};
  if (kit->device->ops->props(kit->device->device, &props) == PD_OK && !props.is_cuda)
    kit->host->log(kit->host, PD_LOG_WARN,
                   "%s has no multiprocessors that could be left idle: the kernels take their time, but no column "
                   "shows an occupancy",
                   props.name);
}

static pd_status init(const pd_host *host, const void *opt, void **out) {
  void *made = NULL;
  pd_status status = pd_kit_open_device(host, opt, sizeof(pd_kit), &made);
  if (status != PD_OK || !made) return status;
  status = pd_kit_needs_spin(made);
  if (status != PD_OK) {
    free(made);
    return status;
  }
  tell(made);
  *out = made;
  return PD_OK;
}

static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  pd_tensor images;
  pd_status status = kit->train->to_device(kit->train, at, &images);
  pd_truth_asked(kit->truth, opt->inject_us, 0);
  if (status == PD_OK && pd_step_injects(at)) {
    status = pd_truth_device_begin(kit->truth, kit->device->stream);
    if (status == PD_OK) status = pd_kit_spin(kit, pd_kit_amount(at, opt->inject_us), opt->kernels);
    if (status == PD_OK) status = pd_truth_device_end(kit->truth, kit->device->stream, (uint64_t)opt->kernels);
  }
  return status == PD_OK ? pd_kit_train(kit) : status;
}

PD_SCENARIO("low_occupancy", "1.0", "kernels of one thread keep a GPU busy; no cause of the verdict, see its columns",
            options, rows, .bottleneck = "none", .presets = presets, .init = init, .step = step,
            .teardown = pd_kit_teardown, .dial = "inject_us")
