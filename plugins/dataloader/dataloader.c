/* dataloader: a plain training step behind a loader that sleeps and computes for every sample, so that the device
 * starves. The bottleneck is in the presets alone. */
#include <pdhost/scenario.h>
#include <pdhost/train.h>

#include <string.h>

static const pd_preset presets[] = {{"data.cpu_work", "4000"}, {"data.io_sleep_ms", "2"}, {NULL, NULL}};

static pd_status init(const pd_host *host, const void *options, void **out) {
  (void)options;
  const pd_train *train = host->extension(host, PD_EXT_TRAIN);
  if (!train) return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
  memcpy(out, &train, sizeof *out); /* the kit is all the state there is; it is the host's */
  return PD_OK;
}

static pd_status step(void *state, const pd_step *at) {
  const pd_train *train = state;
  return train->step(train, at);
}

static void teardown(void *state) { (void)state; }

PD_SCENARIO_PLAIN("dataloader", "1.0", "a slow data loader starves the device", .bottleneck = "input_bound",
                  .presets = presets, .init = init, .step = step, .teardown = teardown)
