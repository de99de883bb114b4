/* CLOCK_MONOTONIC, for spans of time within the host. The time axis of a trace is core/trace/clock.h's. [any thread,
 * and a signal's handler] */
#ifndef CORE_BASE_MONOTONIC_H
#define CORE_BASE_MONOTONIC_H

#include <pdhost/clocks.h>

static inline int64_t monotonic_ns(void) { return pd_monotonic_ns(); }

static inline double monotonic_s(void) { return 1e-9 * (double)monotonic_ns(); }

#endif
