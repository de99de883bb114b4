/* See dial_pace.h. */
#include "dial_pace.h"

#include "dial.h"
#include "base/resample.h"
#include "base/stats.h"

#include <math.h>

#define NO_ERROR 1e-12 /* where nothing is off there is nothing to divide */

void dial_pace_see(dial_pace *self, const truth_block_pair *pairs, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) self->recent[self->seen++ % DIAL_PACE_KEPT] = pairs[i].without_ns;
}

/* The median of the latest `most`; 0: there are too few. */
static double control_ns(const dial_pace *self, uint64_t most) {
  const uint64_t count = self->seen < most ? self->seen : most;
  double sorted[DIAL_PACE_KEPT];
  if (count < DIAL_PACE_LEAST) return 0;
  for (uint64_t i = 0; i < count; i++) sorted[i] = self->recent[(self->seen - 1 - i) % DIAL_PACE_KEPT];
  return stats_spread(sorted, count).median;
}

void dial_pace_set(dial_pace *self, const config_dial *asked, double amount) {
  self->asked = *asked;
  self->set = amount;
  self->set_ns = control_ns(self, DIAL_PACE_KEPT);
  self->cost_count = 0;
}

static void see_costs(dial_pace *self, const truth_block_pair *pairs, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    const double injected = pairs[i].amount - self->asked.none;
    if (!(injected > 0) || !(pairs[i].with_ns > 0)) continue;
    self->costs[self->cost_count++ % DIAL_PACE_COSTS] = (pairs[i].with_ns / pairs[i].without_ns - 1) / injected;
  }
}

/* How many times as much one of the count costs as the search found. An estimate with the standard error e that is off
 * by d is moved by d * d^2 / (d^2 + e^2). */
static double cost_times(const dial_pace *self) {
  const uint64_t count = self->cost_count < DIAL_PACE_COSTS ? self->cost_count : DIAL_PACE_COSTS;
  const double injected = self->set - self->asked.none;
  resample_change cost;
  if (!self->asked.is_count || count < DIAL_PACE_LEAST || !(injected > 0) || self->set_ns <= 0) return 1;
  const double found = dial_wanted_ns(self->asked.us, self->asked.share, self->set_ns) / self->set_ns / injected;
  if (!resample_differences(self->costs, count, 1, &cost)) return 1; /* no memory: it is not followed */
  const double off = cost.change / found - 1, unsure = (cost.high - cost.low) / RESAMPLE_ERRORS / found;
  const double sure = off * off / (off * off + unsure * unsure + NO_ERROR);
  return fmin(fmax(1 + off * sure, 1.0 / DIAL_COST_MOST), DIAL_COST_MOST);
}

/* What the latest `most` control steps, and the effect so far, make of `amount`. */
static double at_pace(const dial_pace *self, double amount, uint64_t most) {
  const config_dial *asked = &self->asked;
  const double now_ns = control_ns(self, most);
  const bool is_share = asked->share > 0;
  if (self->set_ns <= 0 || now_ns <= 0 || (asked->is_time && !is_share)) return amount;
  const double slower = fmin(fmax(now_ns / self->set_ns, 1.0 / DIAL_PACE_MOST), DIAL_PACE_MOST);
  double times = 1;
  if (asked->is_time)
    times = slower;
  else if (!is_share && self->set < asked->most) /* at its maximum a count may be too small already */
    times = 1 / slower;
  const double wanted = fmin(asked->none + (self->set - asked->none) * times / cost_times(self), asked->most);
  return fabs(wanted - amount) < DIAL_PACE_SAME * fabs(amount) ? amount : wanted;
}

double dial_pace_follow(dial_pace *self, double amount, const truth_block_pair *pairs, uint64_t count) {
  self->sum += amount * (double)count;
  self->pairs += count;
  dial_pace_see(self, pairs, count);
  see_costs(self, pairs, count);
  return at_pace(self, amount, DIAL_PACE_LEAST);
}

double dial_pace_end(const dial_pace *self, double amount) { return at_pace(self, amount, DIAL_PACE_KEPT); }

double dial_pace_mean(const dial_pace *self) { return self->pairs ? self->sum / (double)self->pairs : self->set; }
