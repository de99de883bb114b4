/* tiny_ops: TinyOpsBlock on the first 256 logits: some 800 tiny kernels a step of 30 rounds, so that launching them
 * takes longer than running them. [train] fused = true or cuda_graph = true is the cure. */
#include <pdhost/scenario_kit.h>

typedef struct {
  double inject_us, inject_share;
  int64_t rounds;
} options;

static const pd_option rows[] = {
    PD_KIT_DIAL(options),
    PD_OPTION(options, rounds, .def = "30", .min = "0", .max = "120", .unit = "rounds",
              .help = "rounds of the block in each step, each of seven operations forward and more backward"),
};

static const pd_preset presets[] = {{"data.resident", "device"}, {"train.fused", "false"}, {NULL, NULL}};
/* A launch costs little beside what the CPU device computes, so its operations are smaller. */
static const pd_device_preset device_presets[] = {
    {"cpu", "data.batch_size", "4"}, {"cpu", "data.image_size", "8"}, {NULL, NULL, NULL}};

static pd_status init(const pd_host *host, const void *opt, void **out) {
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = 1};
  pd_status status = pd_kit_init(host, opt, out);
  if (status != PD_OK) return status;
  const pd_kit *kit = *out;
  status = kit->train->configure(kit->train, &model);
  if (status == PD_OK) return PD_OK;
  pd_kit_teardown(*out);
  *out = NULL;
  return status;
}

static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  const uint32_t rounds = pd_step_injects(at) ? (uint32_t)pd_kit_count(at, opt->rounds) : 0;
  pd_truth_asked(kit->truth, -1, (uint64_t)opt->rounds);
  pd_status status = kit->train->tiny_ops_rounds(kit->train, rounds);
  if (status == PD_OK) status = kit->train->step(kit->train, at);
  pd_truth_count(kit->truth, rounds);
  return status;
}

PD_SCENARIO("tiny_ops", "1.0", "many tiny kernels: launching them is the bottleneck", options, rows, .whole_step = 1,
            .bottleneck = "launch_bound", .presets = presets, .device_presets = device_presets, .init = init,
            .step = step, .teardown = pd_kit_teardown, .dial = "rounds")
