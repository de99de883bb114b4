/* [run] mode = benchmark: one measurement of a scenario's step, printed and written. [loop thread] */
#ifndef CORE_HOST_BENCHMARK_H
#define CORE_HOST_BENCHMARK_H

#include "config.h"

/* The process's exit code; messages are printed. */
int benchmark_execute(config *settings);

#endif
