/* A configuration with some keys changed. [loop thread] */
#ifndef CORE_CONFIG_CONFIG_VARIANT_H
#define CORE_CONFIG_CONFIG_VARIANT_H

#include "config.h"

/* Whether the value is the user's: not a default, and of no preset. */
bool config_set_by_user(const pd_setting *at);

/* Loads what the user set of `from`, on the device that it runs on, and `more` on top, which wins; presets and defaults
 * come by themselves. As config_load; `from` stays as it is, and may go first. */
pd_status config_variant(const config *from, const config_assignment *more, uint32_t count, config **out, error *err);

#endif
