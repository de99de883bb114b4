/* [run] mode = benchmark: one measurement of a scenario's step, printed and written. [loop thread] */
#ifndef CORE_MEASURE_BENCHMARK_H
#define CORE_MEASURE_BENCHMARK_H

#include "config/config.h"

/* The process's exit code; messages are printed. */
int benchmark_execute(config *settings);

#endif
