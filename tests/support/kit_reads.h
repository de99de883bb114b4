/* What a test reads of a training kit. Each function that reads the device waits for it. */
#ifndef TESTS_SUPPORT_KIT_READS_H
#define TESTS_SUPPORT_KIT_READS_H

#include "train/context.h"
#include "train/train_kit.h"

/* Copies to the host in (O,I,H,W) order. */
pd_status parameter_read(train_context *c, const pd_tensor *tensor, float *out);

/* Parameter `index` by name, its host copy, and that of its gradient. */
typedef struct train_parameter {
  const char *name; /* "conv1.weight" */
  int64_t shape[4];
  uint32_t rank;
  int64_t count;
} train_parameter;
uint32_t train_kit_parameter_count(const train_kit *kit);
pd_status train_kit_parameter(const train_kit *kit, uint32_t index, train_parameter *out);
pd_status train_kit_read_value(train_kit *kit, uint32_t index, float *out);
pd_status train_kit_read_grad(train_kit *kit, uint32_t index, float *out, bool *present);
pd_status train_kit_read_logits(train_kit *kit, float *out); /* (N,1000) of the last forward pass */

#endif
