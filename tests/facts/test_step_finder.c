/* The bounds of the steps of a made-up trace: they end at the waits of the loop, up to its wait for the loader, in the
 * middle of what the loop's own code then takes. */
#include "pd_test.h"

#include "facts/step_finder.h"

#include <stdlib.h>

/* A step of 100 us: launches at 0, 2, ... us, the last one of the optimizer, and SYNCS waits of 1 us each behind them,
 * 5 us apart. What waits for the loader begins anywhere in the step. */
enum { STEPS = 200, LAUNCHES = 20, SYNCS = 8, CALLS = LAUNCHES + SYNCS, THREADS = 3, A_STEP = 5, LENGTH = 100000 };

typedef struct made {
  pd_trace trace;
  pd_string strings[3];
  pd_call calls[STEPS * CALLS];
  pd_device_row rows[STEPS * LAUNCHES];
  uint32_t by_call[STEPS * LAUNCHES];
  pd_range ranges[THREADS * STEPS * A_STEP];
} made;

static uint32_t random_below(uint32_t *state, uint32_t most) {
  *state = *state * 1664525 + 1013904223;
  return (*state >> 8) % most;
}

static void make_calls(made *self) {
  for (uint32_t i = 0; i < STEPS * CALLS; i++) {
    const uint32_t at = i % CALLS, row = i / CALLS * LAUNCHES + at;
    const bool waits = at >= LAUNCHES;
    const int64_t start = (int64_t)(i / CALLS) * LENGTH + (waits ? 45000 + 5000 * (at - LAUNCHES) : 2000 * at);
    self->calls[i] = (pd_call){.start_ns = start,
                               .end_ns = start + 1000,
                               .kind = PD_ACTIVITY_RUNTIME,
                               .api = waits ? PD_API_SYNC : PD_API_LAUNCH,
                               .activity_first = waits ? 0 : row,
                               .activity_count = !waits};
    if (waits) continue;
    self->by_call[row] = row;
    self->rows[row] = (pd_device_row){.name = at == LAUNCHES - 1 ? 2 : 1, .call = i};
    self->rows[row].detail.kind = PD_ACTIVITY_KERNEL;
    self->rows[row].detail.u.kernel.grid[0] = 1 + at;
  }
}

/* By thread, and by time within each; two in three wait for the loader, and some steps hold none. */
static void make_ranges(made *self) {
  uint32_t state = 20261123, count = 0;
  for (uint32_t thread = 0; thread < THREADS; thread++)
    for (uint32_t step = 0; step < STEPS; step++)
      for (uint32_t k = 0; k < random_below(&state, A_STEP); k++)
        self->ranges[count++] = (pd_range){.start_ns = step * LENGTH + k * 20000 + random_below(&state, 20000),
                                           .kind = random_below(&state, 3) ? PD_RANGE_DATALOADER : PD_RANGE_USER,
                                           .thread = thread,
                                           .parent = PD_NONE};
  self->trace.ranges = (pd_array){self->ranges, count, sizeof *self->ranges};
}

static made *make(void) {
  made *self = calloc(1, sizeof *self);
  cr_assert_not_null(self);
  self->strings[0] = (pd_string){"", 0};
  self->strings[1] = (pd_string){"gemm", 4};
  self->strings[2] = (pd_string){"adam", 4};
  make_calls(self);
  self->trace.end_ns = (int64_t)STEPS * LENGTH;
  self->trace.strings = (pd_array){self->strings, 3, sizeof *self->strings};
  self->trace.calls = (pd_array){self->calls, STEPS * CALLS, sizeof *self->calls};
  self->trace.activities = (pd_array){self->rows, STEPS * LAUNCHES, sizeof *self->rows};
  self->trace.activities_by_call = (pd_array){self->by_call, STEPS * LAUNCHES, sizeof *self->by_call};
  return self;
}

/* The plain search: all ranges, in the order of the trace. */
static int64_t first_wait(const made *self, int64_t from, int64_t to) {
  for (uint64_t i = 0; i < self->trace.ranges.count; i++) {
    const pd_range *range = &self->ranges[i];
    if (range->kind == PD_RANGE_DATALOADER && range->start_ns >= from && range->start_ns < to) return range->start_ns;
  }
  return to;
}

/* What the loop's thread does first from `from` on, `to` at the latest. */
static int64_t first_done(const made *self, int64_t from, int64_t to) {
  for (uint64_t i = 0; i < self->trace.ranges.count; i++) {
    const pd_range *range = &self->ranges[i];
    if (!range->thread && range->start_ns >= from && range->start_ns < to) to = range->start_ns;
  }
  for (uint32_t i = 0; i < STEPS * CALLS; i++)
    if (self->calls[i].start_ns >= from && self->calls[i].start_ns < to) to = self->calls[i].start_ns;
  return to;
}

/* The last step waits no more often than one before it. */
static int64_t end_of(const made *self, uint32_t step) {
  static uint32_t most;
  const pd_call *calls = &self->calls[step * CALLS];
  const int64_t next = step + 1 < STEPS ? calls[CALLS].start_ns : self->trace.end_ns;
  int64_t end = calls[LAUNCHES - 1].end_ns;
  const int64_t wait = first_wait(self, end, next);
  uint32_t waits = 0;
  if (step == 0) most = 0;
  for (uint32_t i = LAUNCHES; i < CALLS && calls[i].start_ns < wait && (step + 1 < STEPS || waits < most); i++) {
    end = calls[i].end_ns;
    waits++;
  }
  if (waits > most) most = waits;
  return end + (first_done(self, end, wait) - end) / 2;
}

/* How many of the steps end before their last wait, since one for the loader comes first. */
static uint32_t compare(const made *self) {
  found_steps found;
  uint32_t cut = 0;
  cr_assert_eq(step_finder_find(&self->trace, &found), PD_OK);
  cr_assert_eq(found.period, LAUNCHES, "%s", found.words);
  cr_assert_eq(found.count, STEPS);
  for (uint32_t i = 0; i < STEPS; i++) {
    const int64_t end = end_of(self, i);
    cr_assert_eq(found.bounds[i].end_ns, end, "step %u ends at %lld, not at %lld", i, (long long)found.bounds[i].end_ns,
                 (long long)end);
    cut += found.bounds[i].end_ns < self->calls[(i + 1) * CALLS - 1].end_ns;
  }
  found_steps_free(&found);
  return cut;
}

PD_TEST(step_finder, a_step_ends_before_the_wait_for_the_loader) {
  made *self = make();
  make_ranges(self);
  const uint32_t cut = compare(self);
  cr_assert(cut > STEPS / 4 && cut < STEPS, "%u", cut);
  free(self);
}

PD_TEST(step_finder, without_a_loader_a_step_ends_at_its_last_wait) {
  made *self = make();
  cr_assert_eq(compare(self), 0);
  free(self);
}

/* An optimizer's range ends 2 us behind its launch, and nothing waits but the profiler, behind all steps. */
PD_TEST(step_finder, a_step_holds_the_ranges_around_its_last_launch) {
  made *self = make();
  found_steps found;
  for (uint32_t i = 0; i < STEPS * CALLS; i++) {
    const uint32_t step = i / CALLS, at = i % CALLS;
    self->calls[i].range = at == LAUNCHES - 1 ? step : PD_NONE;
    if (at >= LAUNCHES && i + 1 < STEPS * CALLS) self->calls[i].api = PD_API_OTHER;
    if (at == LAUNCHES - 1)
      self->ranges[step] = (pd_range){.start_ns = self->calls[i].start_ns - 500,
                                      .end_ns = self->calls[i].end_ns + 2000,
                                      .kind = PD_RANGE_USER,
                                      .parent = PD_NONE};
  }
  self->trace.ranges = (pd_array){self->ranges, STEPS, sizeof *self->ranges};
  cr_assert_eq(step_finder_find(&self->trace, &found), PD_OK);
  cr_assert_eq(found.count, STEPS);
  /* The next call begins 4 us behind the range: the bound lies in the middle. */
  for (uint32_t i = 0; i < STEPS; i++)
    cr_assert_eq(found.bounds[i].end_ns, self->ranges[i].end_ns + 2000, "%u: %lld behind", i,
                 (long long)(found.bounds[i].end_ns - self->ranges[i].end_ns));
  found_steps_free(&found);
  free(self);
}
