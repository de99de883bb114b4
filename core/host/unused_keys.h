/* Keys that the user gave and that the run has no use for. */
#ifndef CORE_HOST_UNUSED_KEYS_H
#define CORE_HOST_UNUSED_KEYS_H

#include "config.h"

/* Warns, in one line, of loader keys given for a run whose batches are made once ([data] resident). Keys of an overlay,
 * a file that names neither the scenario nor `resident`, are for any run and not warned of. [loop thread] */
void unused_keys_warn(const config *settings);

#endif
