/* Which settings a verdict may suggest for a run. */
#ifndef CORE_RUN_OFFERS_H
#define CORE_RUN_OFFERS_H

#include "config/config.h"

#include <pdhost/device.h>

pd_offers offers_of(const pd_device_access *device, const config *settings);

#endif
