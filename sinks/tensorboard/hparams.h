/* The run as a session of TensorBoard's HParams tab. [loop thread] */
#ifndef SINKS_TENSORBOARD_HPARAMS_H
#define SINKS_TENSORBOARD_HPARAMS_H

#include "events.h"

#include <pdhost/sink.h>

/* The keys that every run shows, so that runs line up, and every key that differs from its default. */
pd_status hparams_start(const event_place *place, const pd_run *run);
/* The tab's columns: `metrics`, tags of scalars (NULL at the end), and every key that runs are compared by. TensorBoard
 * takes those of one run for all, and without them every scalar of the file for a metric. */
pd_status hparams_experiment(const event_place *place, const pd_run *run, const char *const *metrics);
pd_status hparams_end(const event_place *place, bool success);

#endif
