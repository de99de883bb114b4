/* See ab_trial.h. */
#include "ab_trial.h"

#include "ab_report.h"

#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The interval of a trial is narrow enough when it reaches no further than this part of the margin. */
#define TRIAL_WIDTH 0.5
/* Time for blocks, however long the sides take to come up. */
#define LEAST_S 0.05

typedef struct listener {
  ab_sides *sides;
  double max_time_s, until_s;
} listener;

static void tell(void *user, const ab_result *so_far) {
  const listener *self = user;
  ab_sides_look(self->sides);
  ab_report_progress(so_far, self->max_time_s);
}

static pd_status renew(void *user, uint64_t index) {
  const listener *self = user;
  if (signals_pending() || (self->until_s > 0 && monotonic_s() > self->until_s)) return PD_STOP;
  const pd_progress *progress = progress_table();
  progress->doing(progress, "setting both up again");
  const int code = ab_sides_renew(self->sides, index);
  progress->doing(progress, NULL);
  return code == CODE_DONE ? PD_OK : PD_DEVICE;
}

pd_status ab_trial_measure(ab_sides *sides, double width, double max_time_s, double until_s, ab_result *out) {
  const ab_rules rules = ab_sides_rules(sides, width, max_time_s);
  listener to = {.sides = sides, .max_time_s = max_time_s, .until_s = until_s};
  const ab_callbacks calls = {.block = ab_sides_block, .renew = renew, .tell = tell, .user = &to};
  void *const users[2] = {&sides->steps[0], &sides->steps[1]};
  progress_ends_within(max_time_s);
  return ab_measure(&rules, &calls, users, out);
}

static bool take_median(const ab_result *of, int side, double *out) {
  double *times = malloc((2 * of->rounds + 1) * sizeof *times);
  if (!times) return false;
  for (uint64_t i = 0; i < 2 * of->rounds; i++) times[i] = 1e9 * of->times_s[side][i] / (double)of->number;
  *out = stats_spread(times, 2 * of->rounds).median;
  free(times);
  return true;
}

static bool take_result(const ab_result *of, double margin, ab_trial *out) {
  out->of = of->of;
  out->verdict = comparison_paired(&of->of, margin);
  out->spent_s = of->spent_s;
  out->is_measured = true;
  return take_median(of, 0, &out->step_ns[0]) && take_median(of, 1, &out->step_ns[1]);
}

static bool measure(ab_sides *sides, double margin, double until_s, ab_trial *out, error *err) {
  ab_result got;
  const double left_s = fmax(until_s - monotonic_s(), LEAST_S);
  const pd_status status = ab_trial_measure(sides, TRIAL_WIDTH * margin, left_s, until_s, &got);
  bool ok = status != PD_NO_MEMORY;
  const bool is_whole =
      (status == PD_OK || status == PD_STOP) && !ab_sides_failure(sides)[0] && sides->code == CODE_DONE && got.rounds;
  if (is_whole) ok = take_result(&got, margin, out);
  ab_free(&got);
  if (!ok) error_no_memory(err);
  if (ok && !is_whole) snprintf(out->why, sizeof out->why, "%s", ab_sides_failure(sides));
  return ok;
}

bool ab_trial_loops(const cli_args *args, const char *const texts[2], double margin, double max_time_s, ab_trial *out,
                    error *err) {
  ab_sides sides;
  const double until_s = monotonic_s() + max_time_s;
  *out = (ab_trial){.is_measured = false};
  bool ok = ab_sides_load(&sides, BENCH_LOOP, args, texts, err);
  if (ok && ab_sides_open(&sides) == CODE_DONE) ok = measure(&sides, margin, until_s, out, err);
  ab_sides_close(&sides);
  if (ok && signals_pending())
    ok = error_set(err, PD_STOP, 128 + signals_pending(), "signal %d ended it", signals_pending()) == PD_OK;
  return ok;
}
