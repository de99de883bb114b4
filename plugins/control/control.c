/* control: a plain training step on data that is resident on the device. Nothing is injected: the baseline that the
 * other scenarios are judged against. */
#include <pdhost/scenario.h>
#include <pdhost/train.h>

#include <string.h>

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};

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

PD_SCENARIO_PLAIN("control", "1.0", "nothing injected: data resident on the device, the baseline", .bottleneck = "none",
                  .presets = presets, .init = init, .step = step, .teardown = teardown)
