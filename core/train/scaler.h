/*
 * The loss scaler of mixed precision: 65536 at first, doubled after 2000 good steps in a row, halved by a step whose
 * gradients hold an infinity or NaN; that step updates nothing. Its state is on the device. [loop thread]
 */
#ifndef CORE_TRAIN_SCALER_H
#define CORE_TRAIN_SCALER_H

#include "adamw.h"

typedef struct scaler_state {
  pd_tensor scale, found_inf, good_steps; /* (1) each: float32, float32, int32 */
} scaler_state;

pd_status scaler_open(train_context *c, scaler_state *scaler);
void scaler_close(train_context *c, scaler_state *scaler);

/* Unscale, update, new scale. `read_back`: the host reads found_inf, which waits for the device, and leaves the update
 * out after a bad step, as torch does; else the device decides. */
pd_status scaler_step(train_context *c, scaler_state *scaler, adamw_state *adamw, parameters *all, bool read_back);

/* aten::item: one float32 of the device; waits. */
pd_status scaler_item(const train_context *c, const pd_tensor *tensor, float *out);

#endif
