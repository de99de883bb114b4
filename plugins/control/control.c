/* control: a plain training step on data that is resident on the device. Nothing is injected: the baseline that the
 * other scenarios are judged against. */
#include <pdhost/scenario_kit.h>

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};

PD_SCENARIO_PLAIN("control", "1.0", "nothing injected: data resident on the device, the baseline", .whole_step = 1,
                  .bottleneck = "none", .presets = presets, .init = pd_kit_init, .step = pd_kit_step,
                  .teardown = pd_kit_teardown)
