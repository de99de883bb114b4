/* The run as a session of TensorBoard's HParams tab. [loop thread] */
#ifndef SINKS_TENSORBOARD_HPARAMS_H
#define SINKS_TENSORBOARD_HPARAMS_H

#include "events.h"

#include <pdhost/sink.h>

/* The keys that every run shows, so that runs line up, and every key that differs from its default. */
pd_status hparams_start(const event_place *place, const pd_run *run);
pd_status hparams_end(const event_place *place, bool success);

#endif
