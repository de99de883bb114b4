/* The trace's clock: conversion by anchors, steps of the system clock, the choice of the source. */
#include "pd_test.h"
#include "trace/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Ticks run at 5 per 2 ns up to turn_ns and at 6 per 1 ns from there; CLOCK_REALTIME can be stepped, and each reading
 * may cost time. */
typedef struct fake {
  int64_t ns, step_ns;
  int64_t cost_ns;
  int64_t turn_ns; /* 0: never */
} fake;
#define REALTIME INT64_C(1700000000000000000)

static int64_t elapse(fake *self) { return self->ns += self->cost_ns; }
static uint64_t fake_ticks(void *state) {
  const fake *self = state;
  int64_t ns = elapse(state);
  if (!self->turn_ns || ns < self->turn_ns) return (uint64_t)ns * 5 / 2;
  return (uint64_t)self->turn_ns * 5 / 2 + (uint64_t)(ns - self->turn_ns) * 6;
}
static int64_t fake_realtime(void *state) {
  fake *self = state;
  return REALTIME + elapse(self) + self->step_ns;
}
static uint64_t fake_realtime_ticks(void *state) { return (uint64_t)fake_realtime(state); }
static int64_t fake_monotonic(void *state) { return 77 + elapse(state); }

static void open_fake(trace_clock *clock, fake *self) {
  const clock_source source = {fake_ticks, fake_realtime, fake_monotonic, self};
  cr_assert_eq(trace_clock_open(clock, &source), PD_OK);
}

static void begin_window(trace_clock *clock, fake *self, int64_t ns) {
  self->ns = ns;
  cr_assert_eq(trace_clock_window_begin(clock), PD_OK);
}

static void anchor(trace_clock *clock, fake *self, int64_t ns) {
  self->ns = ns;
  cr_assert_eq(trace_clock_anchor(clock), PD_OK);
}

PD_TEST(clock, ticks_become_realtime) {
  fake state = {.ns = 1000};
  trace_clock clock;
  open_fake(&clock, &state);
  begin_window(&clock, &state, 1000000);
  anchor(&clock, &state, 3000000);
  for (int64_t ns = 900000; ns < 5000000; ns += 12346)
    cr_assert_eq(trace_clock_from_ticks(&clock, (uint64_t)ns * 5 / 2), REALTIME + ns, "at %lld", (long long)ns);
  cr_assert_eq(trace_clock_from_realtime(&clock, REALTIME + 123), REALTIME + 123);
  cr_assert_eq(trace_clock_steps(&clock), 0);
  trace_clock_close(&clock);
}

PD_TEST(clock, a_change_of_rate_at_an_anchor_bends_the_line_there) {
  fake state = {.ns = 1000, .turn_ns = 2000000};
  trace_clock clock;
  open_fake(&clock, &state);
  begin_window(&clock, &state, 1000000);
  anchor(&clock, &state, 2000000);
  anchor(&clock, &state, 3000000);
  cr_assert_eq(trace_clock_from_ticks(&clock, 1500000 * 5 / 2), REALTIME + 1500000);
  cr_assert_eq(trace_clock_from_ticks(&clock, 5000000), REALTIME + 2000000);
  cr_assert_eq(trace_clock_from_ticks(&clock, 5000000 + 500000 * 6), REALTIME + 2500000);
  cr_assert_eq(trace_clock_from_ticks(&clock, 5000000 + 2000000 * 6), REALTIME + 4000000);
  trace_clock_close(&clock);
}

PD_TEST(clock, readings_that_take_time_shift_an_anchor_by_less_than_they_take) {
  fake state = {.ns = 1000, .cost_ns = 25};
  trace_clock clock;
  open_fake(&clock, &state);
  begin_window(&clock, &state, 1000000);
  anchor(&clock, &state, 2000000);
  int64_t got = trace_clock_from_ticks(&clock, 1500000 * 5 / 2) - REALTIME;
  cr_assert(got >= 1500000 - 25 && got <= 1500000 + 25, "%lld", (long long)got);
  cr_assert_eq(trace_clock_steps(&clock), 0);
  trace_clock_close(&clock);
}

static void check_step(int64_t step_ns) {
  fake state = {.ns = 1000};
  trace_clock clock;
  open_fake(&clock, &state);
  begin_window(&clock, &state, 10000000);
  anchor(&clock, &state, 20000000);
  state.step_ns = step_ns; /* somewhere between 20 and 30 ms */
  anchor(&clock, &state, 30000000);
  anchor(&clock, &state, 40000000);
  cr_assert_eq(trace_clock_steps(&clock), 1);
  int64_t last = INT64_MIN;
  for (int64_t ns = 10000000; ns < 45000000; ns += 50001) {
    int64_t at = trace_clock_from_ticks(&clock, (uint64_t)ns * 5 / 2);
    cr_assert_geq(at, last);
    cr_assert_leq(llabs(at - REALTIME - ns), 1);
    last = at;
  }
  cr_assert_eq(trace_clock_from_realtime(&clock, REALTIME + 15000000), REALTIME + 15000000);
  cr_assert_eq(trace_clock_from_realtime(&clock, REALTIME + 35000000 + step_ns), REALTIME + 35000000);
  /* The next window starts from the clock as it is now. */
  begin_window(&clock, &state, 50000000);
  cr_assert_eq(trace_clock_steps(&clock), 0);
  cr_assert_eq(trace_clock_from_realtime(&clock, REALTIME + 51000000 + step_ns), REALTIME + 51000000 + step_ns);
  cr_assert_eq(trace_clock_from_ticks(&clock, 51000000u * 5 / 2), REALTIME + 51000000 + step_ns);
  trace_clock_close(&clock);
}

PD_TEST(clock, a_step_forward_is_counted_and_taken_out) { check_step(1000000000); }
PD_TEST(clock, a_step_back_is_counted_and_taken_out) { check_step(-1000000000); }

PD_TEST(clock, a_slewing_clock_is_no_step) {
  fake state = {.ns = 1000};
  trace_clock clock;
  open_fake(&clock, &state);
  begin_window(&clock, &state, 1000000);
  for (int i = 0; i < 20; i++) {
    state.ns += 1000000;
    state.step_ns += 900;
    cr_assert_eq(trace_clock_anchor(&clock), PD_OK);
  }
  cr_assert_eq(trace_clock_steps(&clock), 0);
  trace_clock_close(&clock);
}

PD_TEST(clock, ticks_that_run_backwards_never_bend_the_axis_back) {
  fake state = {.ns = 1000};
  trace_clock clock;
  open_fake(&clock, &state);
  /* The fall-back: ticks are CLOCK_REALTIME itself, and it is set back by a second. */
  clock.source.ticks = fake_realtime_ticks;
  clock.point_count = 0;
  begin_window(&clock, &state, 1000000000);
  anchor(&clock, &state, 2000000000);
  state.step_ns = -1000000000;
  anchor(&clock, &state, 2500000000);
  anchor(&clock, &state, 4000000000);
  cr_assert_eq(trace_clock_steps(&clock), 1);
  int64_t last = INT64_MIN;
  for (int64_t ns = 0; ns < 5000000000; ns += 1000003) {
    int64_t at = trace_clock_from_ticks(&clock, (uint64_t)(REALTIME + ns));
    cr_assert_geq(at, last);
    last = at;
  }
  /* The reading at 2.5 s stands at an earlier tick than the one before it: the line goes past it to the next. */
  cr_assert_eq(trace_clock_from_ticks(&clock, (uint64_t)(REALTIME + 2000000000)), REALTIME + 2000000000);
  cr_assert_eq(trace_clock_from_ticks(&clock, (uint64_t)(REALTIME + 2500000000)), REALTIME + 3000000000);
  cr_assert_eq(trace_clock_from_ticks(&clock, (uint64_t)(REALTIME + 3000000000)), REALTIME + 4000000000);
  trace_clock_close(&clock);
}

PD_TEST(clock, anchors_close_together_do_not_turn_noise_into_slope) {
  fake state = {.ns = 1000};
  trace_clock clock;
  open_fake(&clock, &state);
  begin_window(&clock, &state, 1000000);
  anchor(&clock, &state, 2000000);
  state.turn_ns = 2000000; /* two microseconds that look like five */
  anchor(&clock, &state, 2002000);
  cr_assert_eq(trace_clock_from_ticks(&clock, 3000000u * 5 / 2), REALTIME + 3000000);
  trace_clock_close(&clock);
}

PD_TEST(clock, long_stretches_lose_nothing_to_rounding) {
  fake state = {.ns = 1000};
  trace_clock clock;
  open_fake(&clock, &state);
  begin_window(&clock, &state, 1000000);
  int64_t hour_ns = INT64_C(3600000000000);
  state.ns = hour_ns;
  cr_assert_eq(trace_clock_anchor(&clock), PD_OK);
  cr_assert_eq(trace_clock_from_ticks(&clock, (uint64_t)(hour_ns - 2) * 5 / 2), REALTIME + hour_ns - 2);
  cr_assert_eq(trace_clock_from_ticks(&clock, (uint64_t)hour_ns * 5), REALTIME + 2 * hour_ns);
  trace_clock_close(&clock);
}

static void write_file(char *path, const char *text) {
  int fd = mkstemp(path);
  cr_assert_geq(fd, 0);
  FILE *file = fdopen(fd, "w");
  cr_assert_not_null(file);
  fputs(text, file);
  fclose(file);
}

PD_TEST(clock, the_counter_is_used_only_where_the_kernel_trusts_it) {
  static const char good[] = "model name\t: x\nflags\t\t: fpu tsc constant_tsc rep_good nonstop_tsc cpuid\n";
  static const struct {
    const char *cpuinfo, *source;
    bool usable;
  } cases[] = {{good, "tsc\n", true},
               {good, "tsc", true},
               {good, "hpet\n", false},
               {good, "kvm-clock\n", false},
               {good, "tscish\n", false},
               {"flags\t\t: tsc constant_tsc\n", "tsc\n", false},
               {"flags\t\t: tsc nonstop_tsc\n", "tsc\n", false},
               {"flags\t\t: xconstant_tsc nonstop_tscx\n", "tsc\n", false},
               {"", "tsc\n", false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char cpuinfo[] = "/tmp/pdhost_cpuinfo_XXXXXX", source[] = "/tmp/pdhost_source_XXXXXX";
    write_file(cpuinfo, cases[i].cpuinfo);
    write_file(source, cases[i].source);
    cr_assert_eq(clock_tsc_usable(cpuinfo, source), cases[i].usable, "case %zu", i);
    cr_assert_not(clock_tsc_usable("/nonexistent", source));
    cr_assert_not(clock_tsc_usable(cpuinfo, "/nonexistent"));
    unlink(cpuinfo);
    unlink(source);
  }
}

PD_TEST(clock, this_machine_agrees_with_its_own_realtime) {
  trace_clock clock;
  cr_assert_eq(trace_clock_open(&clock, NULL), PD_OK);
  cr_assert_eq(trace_clock_window_begin(&clock), PD_OK);
  /* A reading between two readings of CLOCK_REALTIME, brought onto the same axis, lies between them but for the
   * anchors' own width. */
  int64_t before = trace_clock_now_ns(&clock);
  uint64_t ticks = trace_clock_ticks(&clock);
  int64_t after = trace_clock_now_ns(&clock);
  cr_assert_eq(trace_clock_anchor(&clock), PD_OK);
  int64_t at = trace_clock_from_ticks(&clock, ticks);
  int64_t slack = 100000;
  cr_assert(at >= before - slack && at <= after + slack, "%lld %lld %lld", (long long)before, (long long)at,
            (long long)after);
  trace_clock_close(&clock);
}
