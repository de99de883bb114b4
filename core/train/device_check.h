/* What a device has of that which [train] may ask for. */
#ifndef CORE_TRAIN_DEVICE_CHECK_H
#define CORE_TRAIN_DEVICE_CHECK_H

#include "train_kit.h"

/* Fails, with a message through host->fail, where the configuration asks for what the device does not have. */
pd_status device_check(const pd_host *host, const pd_device_access *device, const train_config *config);

/* The type of activations and of the weights that are multiplied with. */
pd_dtype device_check_dtype(const train_config *config);
/* Whether the loss is scaled: float16 has too few exponents for small gradients, bfloat16 has float32's. */
bool device_check_scales(const train_config *config);

#endif
