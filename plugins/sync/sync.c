/* sync: reads the loss back to the host in the middle of the step, as code that logs does. Each read waits for all the
 * work that is queued, so the device has nothing to do until the host has launched more. The loop does not wait for its
 * steps here ([run] sync_timing = false): a loop that waits anyway would hide what the reads cost. */
#include <pdhost/scenario_kit.h>

typedef struct {
  double inject_us, inject_share;
  int64_t reads_per_step;
} options;

static const pd_option rows[] = {
    PD_KIT_DIAL(options),
    PD_OPTION(options, reads_per_step, .def = "24", .min = "0", .max = "1000", .unit = "reads",
              .help = "blocking reads of the loss: in turn after the forward pass, the backward pass and the update"),
};

static const pd_preset presets[] = {
    {"data.resident", "device"}, {"data.image_size", "96"}, {"run.sync_timing", "false"}, {NULL, NULL}};

/* A read costs little beside what the CPU device computes: smaller steps, and more reads. */
static const pd_device_preset device_presets[] = {{"cpu", "data.batch_size", "4"},
                                                  {"cpu", "data.image_size", "8"},
                                                  {"cpu", "scenario.reads_per_step", "150"},
                                                  {NULL, NULL, NULL}};

static const pd_cure cures[] = {{"forced_sync", "scenario.reads_per_step=0"}, {NULL, NULL}};

/* Every third of the step's reads, from `first` on. */
static pd_status read_loss(const pd_kit *kit, int64_t first, int64_t reads) {
  double loss;
  uint64_t done = 0;
  pd_status status = PD_OK;
  pd_truth_begin(kit->truth);
  for (int64_t i = first; i < reads && status == PD_OK; i += 3, done++) status = kit->train->item(kit->train, &loss);
  pd_truth_end(kit->truth, done);
  return status;
}

static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  const pd_train *train = kit->train;
  const int64_t reads = pd_step_injects(at) ? pd_kit_count(at, opt->reads_per_step) : 0;
  pd_tensor images;
  pd_truth_asked(kit->truth, -1, (uint64_t)opt->reads_per_step);
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = train->zero_grad(train);
  if (status == PD_OK) status = train->forward(train);
  if (status == PD_OK) status = read_loss(kit, 0, reads);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK) status = read_loss(kit, 1, reads);
  if (status == PD_OK) status = train->optimizer_step(train);
  if (status == PD_OK) status = read_loss(kit, 2, reads);
  return status;
}

PD_SCENARIO("sync", "1.0", "a blocking read of the loss drains the device in every step", options, rows,
            .bottleneck = "forced_sync", .presets = presets, .init = pd_kit_init, .step = step,
            .teardown = pd_kit_teardown, .cures = cures, .device_presets = device_presets, .dial = "reads_per_step")
