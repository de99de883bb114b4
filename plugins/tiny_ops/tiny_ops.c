/* tiny_ops: TinyOpsBlock on the first 256 logits: some 800 tiny kernels a step, so that launching them takes longer
 * than running them. [train] fused = true or cuda_graph = true is the cure. */
#include <pdhost/scenario.h>
#include <pdhost/train.h>

#include <string.h>

static const pd_preset presets[] = {{"data.cpu_work", "200"},
                                    {"data.io_sleep_ms", "0"},
                                    {"data.resident", "host"},
                                    {"train.fused", "false"},
                                    {NULL, NULL}};

static pd_status init(const pd_host *host, const void *options, void **out) {
  (void)options;
  const pd_train *train = host->extension(host, PD_EXT_TRAIN);
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = 1};
  if (!train) return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
  const pd_status status = train->configure(train, &model);
  if (status == PD_OK) memcpy(out, &train, sizeof *out); /* the kit is all the state there is; it is the host's */
  return status;
}

static pd_status step(void *state, const pd_step *at) {
  const pd_train *train = state;
  return train->step(train, at);
}

static void teardown(void *state) { (void)state; }

PD_SCENARIO_PLAIN("tiny_ops", "1.0", "many tiny kernels: launching them is the bottleneck",
                  .bottleneck = "launch_bound", .presets = presets, .init = init, .step = step, .teardown = teardown)
