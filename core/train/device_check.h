/* What a device has of that which [train] may ask for. */
#ifndef CORE_TRAIN_DEVICE_CHECK_H
#define CORE_TRAIN_DEVICE_CHECK_H

#include "train_kit.h"

/* Fails, with a message through host->fail, where the configuration asks for what the device does not have. */
pd_status device_check(const pd_host *host, const pd_device_access *device, const train_config *config);

#endif
