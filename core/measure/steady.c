/* See steady.h. */
#include "steady.h"

#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_Z 2.576
#define LEAST_CHANGE 0.01
#define MOST_CHANGE 1e9
/* A shorter window would be of the timer's own noise. */
#define LEAST_WINDOW_S 0.1
/* The second half of the time is for a second window. */
#define WINDOWS_IN_TIME 2
/* How many blocks there are between two looks. */
enum { LOOK_EVERY = 5, MOST_GROWTH = 10, UNUSABLE_MOST = 100 };

typedef struct waiting {
  const steady_rules *rules;
  timer_block block;
  void *user;
  pd_warm_up *to;
  double times[STEADY_MOST_BLOCKS]; /* a ring */
  uint64_t taken;                   /* into the ring */
  uint64_t window, unusable;
  double block_s; /* of the last one sized up, with what was done before it */
  double begun_s; /* by the rules' clock */
} waiting;

const char *steady_name(pd_settled decided) {
  static const char *const names[] = {"off", "steady", "trend", "too few blocks"};
  return names[decided];
}

static double middle_of(double *values, uint64_t count) {
  stats_sort(values, count);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

steady_trend steady_trend_of(const double *times, uint64_t count) {
  double slopes[STEADY_MOST_BLOCKS * (STEADY_MOST_BLOCKS - 1) / 2] = {0}, sorted[STEADY_MOST_BLOCKS];
  uint64_t pairs = 0;
  double sum = 0;
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t k = 0; k < i; k++) {
      slopes[pairs++] = (times[i] - times[k]) / (double)(i - k);
      sum += (times[i] > times[k]) - (times[i] < times[k]);
    }
  memcpy(sorted, times, count * sizeof *times);
  const double n = (double)count, median = middle_of(sorted, count);
  const double change = middle_of(slopes, pairs) * (n - 1);
  return (steady_trend){.change = median > 0 ? fmax(-MOST_CHANGE, fmin(change / median, MOST_CHANGE)) : 0,
                        .z = sum / sqrt(n * (n - 1) * (2 * n + 5) / 18)};
}

/* *host_s NaN: the clock gave no time. */
static pd_status take(waiting *self, uint64_t number, double *host_s) {
  double device_s;
  const pd_status status = self->block(self->user, number, host_s, &device_s);
  if (status != PD_OK) return status;
  self->to->blocks++;
  self->to->runs += number;
  if (*host_s >= 0 && *host_s <= MEASUREMENT_LONGEST_S) {
    self->to->spent_s += *host_s;
  } else {
    *host_s = (double)NAN;
    self->unusable++;
  }
  return PD_OK;
}

/* With what was done outside the blocks. */
static double passed_s(const waiting *self) {
  return self->rules->clock ? self->rules->clock(self->user) - self->begun_s : self->to->spent_s;
}

static bool time_is_up(const waiting *self) {
  return passed_s(self) >= self->rules->max_time_s || self->unusable >= UNUSABLE_MOST ||
         self->to->blocks >= TIMER_MAX_BLOCKS;
}

/* Runs in a block, and blocks in a window. */
static pd_status size_up(waiting *self) {
  const double room_s = self->rules->max_time_s / WINDOWS_IN_TIME;
  const double wanted_s = fmin(fmax(self->rules->window_s, LEAST_WINDOW_S), room_s) / STEADY_MOST_BLOCKS;
  uint64_t number = 1;
  double host_s = 0, block_s;
  for (;;) {
    const double before_s = passed_s(self);
    const pd_status status = take(self, number, &host_s);
    if (status != PD_OK) return status;
    block_s = passed_s(self) - before_s;
    if (host_s >= wanted_s || number >= TIMER_MAX_NUMBER || time_is_up(self)) break;
    const double growth = host_s > 0 ? fmin(MOST_GROWTH, 1.2 * wanted_s / host_s) : MOST_GROWTH;
    number = (uint64_t)fmin(ceil((double)number * fmax(growth, 1.2)), TIMER_MAX_NUMBER);
  }
  self->to->number_per_run = number;
  self->block_s = block_s;
  const double blocks = block_s > 0 ? room_s / block_s : STEADY_MOST_BLOCKS;
  self->window = blocks < STEADY_LEAST_BLOCKS  ? STEADY_LEAST_BLOCKS
                 : blocks > STEADY_MOST_BLOCKS ? STEADY_MOST_BLOCKS
                                               : (uint64_t)blocks;
  return PD_OK;
}

/* Whether that many blocks, each as long as the one that was sized, can be measured at all. */
static bool has_time(const waiting *self) {
  const double left_s = self->rules->max_time_s - passed_s(self);
  return !time_is_up(self) && !(self->block_s * (double)self->window > left_s);
}

static void look(waiting *self) {
  double in_order[STEADY_MOST_BLOCKS];
  for (uint64_t i = 0; i < self->window; i++)
    in_order[i] = self->times[(self->taken - self->window + i) % STEADY_MOST_BLOCKS];
  const steady_trend trend = steady_trend_of(in_order, self->window);
  const bool steady = fabs(trend.z) <= MOST_Z || fabs(trend.change) < LEAST_CHANGE;
  self->to->decided = steady ? PD_SETTLED : PD_TREND;
  self->to->change = trend.change;
  self->to->z = trend.z;
}

static pd_status take_windows(waiting *self) {
  while (!time_is_up(self) && self->to->decided != PD_SETTLED) {
    double host_s;
    const pd_status status = take(self, self->to->number_per_run, &host_s);
    if (status != PD_OK) return status;
    if (isnan(host_s)) continue;
    self->times[self->taken++ % STEADY_MOST_BLOCKS] = host_s;
    if (self->taken >= self->window && (self->taken - self->window) % LOOK_EVERY == 0) look(self);
  }
  return PD_OK;
}

static pd_status warn(const waiting *self, pd_measurement *out) {
  char text[256];
  snprintf(text, sizeof text,
           "The times never settled: the last %llu of %llu blocks still became %.1f%% %s in %.1f s of warm-up "
           "(benchmark.max_warmup_time).",
           (unsigned long long)self->window, (unsigned long long)self->to->blocks, 100 * fabs(self->to->change),
           self->to->change > 0 ? "slower" : "faster", passed_s(self));
  return measurement_warn(out, text);
}

pd_status steady_wait(const steady_rules *rules, timer_block block, void *user, pd_measurement *out) {
  waiting self = {.rules = rules, .block = block, .user = user, .to = &out->warm_up};
  out->warm_up = (pd_warm_up){.decided = PD_SETTLED_OFF};
  if (!(rules->max_time_s > 0)) return PD_OK;
  if (rules->clock) self.begun_s = rules->clock(user);
  pd_status status = size_up(&self);
  out->warm_up.decided = PD_SETTLED_UNKNOWN;
  if (status == PD_OK && has_time(&self)) status = take_windows(&self);
  return status == PD_OK && out->warm_up.decided == PD_TREND ? warn(&self, out) : status;
}
