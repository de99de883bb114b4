/* Choosing and opening the run's device, `auto` included. [loop thread] */
#ifndef CORE_RUN_RUN_DEVICE_H
#define CORE_RUN_RUN_DEVICE_H

#include "run_state.h"
#include "config/config.h"

/* Fills the device part of `run`. Prints the line of a failure and returns the exit code, CODE_DONE when open.
 *
 * A run that is `beside` another one has its device, so that the libraries of both take the same kernels, and on a GPU
 * its stream: beside a run with a device and a stream of its own, each kernel of a graph took 0.36 us longer on an
 * H200. Elsewhere a failure stays with a stream, so that it has its own. The memory that it frees goes back to the
 * system, and is not in the peak; a larger workspace of the stream stays. */
int run_device_open(run_state *run, config *settings);
void run_device_close(run_state *run);

#endif
