/* One run: brings up device, training kit, loader, scenario and sinks, runs the loop, sums up, tears down. */
#ifndef CORE_RUN_RUN_H
#define CORE_RUN_RUN_H

#include "config/config.h"

/* The process's exit code (README, "Exit codes"). Messages are printed. [loop thread] */
int run_execute(config *settings);

#endif
