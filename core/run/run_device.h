/* Choosing and opening the run's device, `auto` included. [loop thread] */
#ifndef CORE_RUN_RUN_DEVICE_H
#define CORE_RUN_RUN_DEVICE_H

#include "run_state.h"
#include "config/config.h"

/* Fills the device part of `run`; where `beside` is set, with that run's. Prints the line of a failure and returns the
 * exit code, CODE_DONE when open. */
int run_device_open(run_state *run, config *settings);
void run_device_close(run_state *run);

#endif
