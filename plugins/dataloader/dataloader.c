/* dataloader: a plain training step behind a loader that sleeps and computes for every sample, so that the device
 * starves. The bottleneck is in the presets alone. */
#include <pdhost/scenario_kit.h>

static const pd_preset presets[] = {{"data.cpu_work", "4000"}, {"data.io_sleep_ms", "2"}, {NULL, NULL}};

PD_SCENARIO_PLAIN("dataloader", "1.0", "a slow data loader starves the device", .whole_step = 1,
                  .bottleneck = "input_bound", .presets = presets, .init = pd_kit_init, .step = pd_kit_step,
                  .teardown = pd_kit_teardown)
