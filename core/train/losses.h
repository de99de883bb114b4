/* The loss of every step, in a ring on the device, so that no step waits for it. [loop thread] */
#ifndef CORE_TRAIN_LOSSES_H
#define CORE_TRAIN_LOSSES_H

#include "context.h"
#include "train_kit.h"

typedef struct loss_history {
  pd_tensor ring;    /* (TRAIN_LOSSES_KEPT) float32 */
  pd_tensor current; /* (1): where the forward pass writes */
  pd_tensor fixed;   /* (1): the same place for every step, for a captured graph; data NULL: straight to the ring */
  uint64_t done, read;
} loss_history;

pd_status losses_open(train_context *c, loss_history *losses, bool fixed);
void losses_close(train_context *c, loss_history *losses);

/* Where the forward pass writes its loss. */
const pd_tensor *losses_slot(loss_history *self);
/* The step is over: its loss is counted. */
pd_status losses_commit(train_context *c, loss_history *losses);
/* Oldest first, at most `capacity`, those not read before; waits. */
pd_status losses_read(train_context *c, loss_history *losses, double *out, uint64_t capacity, uint64_t *count);

#endif
