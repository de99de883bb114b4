/* Where the steps' time goes when each moment belongs to the class of events that a tool puts first. */
#ifndef CORE_SCORE_RIVALS_SHARES_H
#define CORE_SCORE_RIVALS_SHARES_H

#include "facts/facts.h"
#include "facts/intervals.h"

/* Classes of events, in no order. */
enum {
  SHARE_KERNEL,
  SHARE_TO_DEVICE, /* copies, by direction */
  SHARE_TO_HOST,
  SHARE_ON_DEVICE, /* and sets */
  SHARE_RUNTIME,   /* calls of the runtime and the driver */
  SHARE_LAUNCHING, /* of them, those with device records */
  SHARE_DATALOADER,
  SHARE_OPERATION,
  SHARE_CLASSES,
  SHARE_REST = SHARE_CLASSES, /* of the steps: nothing of the classes asked for */
  SHARE_COUNT
};

/* Gives each moment of the steps to the first of `order`'s `count` classes that it belongs to; shares of all steps,
 * 0..1, by class. False on no memory. */
bool shares_of(const trace_facts *facts, const uint32_t *order, uint32_t count, double *shares);

#endif
