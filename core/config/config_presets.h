/* Settings that plugins bring: a scenario's presets, a device's, and a scenario's for one device. [loop thread] */
#ifndef CORE_CONFIG_CONFIG_PRESETS_H
#define CORE_CONFIG_CONFIG_PRESETS_H

#include "config.h"

/* Sets every key that the user has not given back to its default, then applies the presets of the scenario, of the
 * device that is open, and of the scenario for that device, in this order. A preset of a wrong key or value is a
 * fault of its plugin (CODE_PLUGIN). May be called again when another device has been opened. */
pd_status config_presets_apply(config *self, error *err);

/* Whether a scenario may preset the key "section.key": any of the core's but those of [run] that choose plugins,
 * folders and the kind of run. */
bool config_presets_may(const char *key);

/* The settings that the open device brought, as "batch_size 16, image_size 24"; "" when there are none. */
const char *config_presets_text(const config *self, char *text, size_t room);

#endif
