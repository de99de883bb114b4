/*
 * The trace's clock: cheap ticks for the hot path, and anchors that turn ticks into time afterwards.
 *
 * Ticks are the time stamp counter where the kernel itself trusts it, else nanoseconds of CLOCK_REALTIME. The time
 * axis is CLOCK_MONOTONIC shifted to CLOCK_REALTIME at the window's begin: a step of the system clock is counted and
 * never bends the axis. trace_clock_ticks() is for any thread, everything else for the loop thread.
 */
#ifndef CORE_TRACE_CLOCK_H
#define CORE_TRACE_CLOCK_H

#include <pdhost/plugin.h>

#if defined(__x86_64__) || defined(__i386__)
#define TRACE_CLOCK_HAS_TSC 1
#endif

/* Where readings come from; tests bring their own. ticks() never returns 0. */
typedef struct clock_source {
  uint64_t (*ticks)(void *state);
  int64_t (*realtime_ns)(void *state);
  int64_t (*monotonic_ns)(void *state);
  void *state;
} clock_source;

/* One reading of all three clocks at the same moment, as nearly as the best of five tries gets it. */
typedef struct clock_anchor {
  uint64_t ticks;
  int64_t realtime_ns, monotonic_ns;
  int64_t width_ns; /* how far apart the readings may be */
} clock_anchor;

typedef struct clock_point {
  uint64_t ticks;
  int64_t monotonic_ns;
  uint64_t slope; /* nanoseconds per tick to the next point, in units of 2^-48 */
} clock_point;

/* A stretch of the window in which CLOCK_REALTIME ran undisturbed; neighbours overlap where the step may have been. */
typedef struct clock_zone {
  int64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
  int64_t delta_ns;       /* what the steps since the window's begin add up to */
} clock_zone;

typedef struct trace_clock {
  clock_source source;
  bool tsc;
  clock_point *points;
  uint64_t point_count, point_capacity;
  clock_zone *zones;
  uint64_t zone_count, zone_capacity;
  clock_anchor last;
  int64_t offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the window's begin */
} trace_clock;

/* Whether the processor's counter may be used, from /proc/cpuinfo and the kernel's choice of clock source. */
bool clock_tsc_usable(const char *cpuinfo_path, const char *clocksource_path);

/* `source` NULL: this machine's clocks. */
pd_status trace_clock_open(trace_clock *self, const clock_source *source);
void trace_clock_close(trace_clock *self);

static inline uint64_t trace_clock_ticks(const trace_clock *self) {
#ifdef TRACE_CLOCK_HAS_TSC
  if (self->tsc) return __builtin_ia32_rdtsc();
#endif
  return self->source.ticks(self->source.state);
}
static inline int64_t trace_clock_now_ns(const trace_clock *self) {
  return self->source.realtime_ns(self->source.state);
}

/* Forgets the anchors of the window before and takes this window's first one. */
pd_status trace_clock_window_begin(trace_clock *self);
/* Takes one more anchor: after every step and at the window's end. */
pd_status trace_clock_anchor(trace_clock *self);

/* Time on the trace's axis, in nanoseconds of CLOCK_REALTIME. Never decreases with `ticks`. */
int64_t trace_clock_from_ticks(const trace_clock *self, uint64_t ticks);
int64_t trace_clock_from_realtime(const trace_clock *self, int64_t realtime_ns);

/* Steps of CLOCK_REALTIME seen since the window's begin. */
uint64_t trace_clock_steps(const trace_clock *self);

#endif
