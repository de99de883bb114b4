/* See measurement_judge.h. */
#include "measurement_judge.h"

#include "base/statistics.h"

#include <math.h>
#include <stdio.h>

/* The interquartile range as a share of the median: torch.utils.benchmark's _IQR_WARN_THRESHOLD and
 * _IQR_GROSS_WARN_THRESHOLD. */
#define SPREAD_WARN 0.1
#define SPREAD_GROSS 0.25
/* An empty block of so large a share distorts what is measured. */
#define EMPTY_WARN 0.01
/* A drift is one from this share of the median on, where it is larger than chance makes it. */
#define DRIFT_WARN 0.05
#define DRIFT_ERRORS 4
enum { DRIFT_BLOCKS = 12 };

static pd_status judge_spread(pd_measurement *self, const statistics *all, bool *trusted) {
  char text[256];
  if (!(all->median > 0) || all->iqr / all->median < SPREAD_WARN) return PD_OK;
  const bool gross = all->iqr / all->median >= SPREAD_GROSS;
  if (gross) *trusted = false;
  snprintf(text, sizeof text, "Interquartile range is %.1f%% of the median measurement.\n%s",
           100 * all->iqr / all->median,
           gross ? "This suggests significant environmental influence." : "This could indicate system fluctuation.");
  return measurement_warn(self, text);
}

/* The last third against the first: a clock that ramps up or down, a cache that fills, another program that began. */
static pd_status judge_drift(pd_measurement *self, const statistics *all) {
  const uint64_t third = self->block_count / 3;
  statistics first, last;
  char text[256];
  if (self->block_count < DRIFT_BLOCKS || !(all->median > 0)) return PD_OK;
  if (!statistics_make(self->host_s, third, &first) ||
      !statistics_make(self->host_s + self->block_count - third, third, &last))
    return PD_NO_MEMORY;
  const double change = last.median - first.median;
  /* A median's standard error is 1.25 of the mean's; 1.4826 median deviations make a standard deviation. */
  const double error = 1.25 * 1.4826 * sqrt((first.mad * first.mad + last.mad * last.mad) / (double)third);
  if (fabs(change) < DRIFT_WARN * all->median || fabs(change) < DRIFT_ERRORS * error) return PD_OK;
  snprintf(text, sizeof text,
           "The last third of the measurements is %.1f%% %s than the first.\nThe machine was not in a steady state: "
           "give it more run.warmup_steps, or look for what changes.",
           100 * fabs(change) / first.median, change > 0 ? "slower" : "faster");
  return measurement_warn(self, text);
}

static pd_status judge_timer(pd_measurement *self, const statistics *all) {
  char text[256];
  if (!(all->median > 0) || self->timer_overhead_s < EMPTY_WARN * all->median) return PD_OK;
  snprintf(text, sizeof text,
           "An empty block takes %.1f%% of a measurement: synchronising is a part of what was measured.\n%s",
           100 * self->timer_overhead_s / all->median,
           self->cold_cache ? "With a cold cache look at the device's time." : "Give a block more runs.");
  return measurement_warn(self, text);
}

pd_status measurement_judge(pd_measurement *self, bool *trusted) {
  statistics all;
  *trusted = true;
  if (!statistics_make(self->host_s, self->block_count, &all)) return PD_NO_MEMORY;
  pd_status status = judge_spread(self, &all, trusted);
  if (status == PD_OK) status = judge_drift(self, &all);
  if (status == PD_OK) status = judge_timer(self, &all);
  return status;
}
