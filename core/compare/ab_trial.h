/* Two configurations measured in turns, with what the progress line says of it: for `pdhost ab` and for the commands
 * that try cures. [loop thread] */
#ifndef CORE_COMPARE_AB_TRIAL_H
#define CORE_COMPARE_AB_TRIAL_H

#include "ab_sides.h"

/* Measures sides that are open until the interval of their ratio reaches no further than `width`, or `max_time_s` of
 * blocks are up; and no restart begins after `until_s` of monotonic_s(), 0: whenever. As ab_measure; where a side did
 * not come up again, sides->code says so. */
pd_status ab_trial_measure(ab_sides *sides, double width, double max_time_s, double until_s, ab_result *out);

typedef struct ab_trial {
  paired_ratio of;   /* B's time over A's */
  outcome verdict;   /* with the margin that was asked for */
  double step_ns[2]; /* median of the blocks */
  double spent_s;    /* in blocks */
  bool is_measured;  /* false: one of them does not run; `why` says why, and may be empty where it was printed */
  char why[256];
} ab_trial;

/* Whole iterations of the training loop with `texts`[1] against those with `texts`[0], each on top of `args`, for about
 * `max_time_s` with all that it takes to bring them up. False: a
 * signal came, a setting is wrong, or there was no memory, see `err`. Signals are caught already (signals.h). */
bool ab_trial_loops(const cli_args *args, const char *const texts[2], double margin, double max_time_s, ab_trial *out,
                    error *err);

#endif
