/* AdamW over all parameters that have a gradient. [loop thread] */
#ifndef CORE_TRAIN_ADAMW_H
#define CORE_TRAIN_ADAMW_H

#include "parameters.h"

typedef struct adamw_state {
  double lr;
  pd_tensor step; /* (1) int64 on the device: updates done */
} adamw_state;

pd_status adamw_open(train_context *c, adamw_state *adamw, double lr);
void adamw_close(train_context *c, adamw_state *adamw);

/* The parameters that have a gradient, as the device's operations want them; returns their number. */
int64_t adamw_list(const train_context *c, const parameters *all, pd_parameter list[PARAMETERS_MAX]);

/* One update; does nothing on the device where *found_inf, (1) float32 or NULL, is not 0. */
pd_status adamw_step(train_context *c, adamw_state *adamw, parameters *all, const pd_tensor *found_inf);

#endif
