/* See dial_pace.h. */
#include "dial_pace.h"

#include "base/stats.h"

#include <math.h>

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
  self->pace = amount;
  self->trim = 1;
}

/* What the latest `most` control steps make of the amount that was found. */
static double at_pace(const dial_pace *self, uint64_t most) {
  const config_dial *asked = &self->asked;
  const double now_ns = control_ns(self, most);
  const bool is_share = asked->share > 0;
  if (asked->is_time != is_share || self->set_ns <= 0 || now_ns <= 0) return self->set;
  const double slower = fmin(fmax(now_ns / self->set_ns, 1.0 / DIAL_PACE_MOST), DIAL_PACE_MOST);
  /* At its maximum a count may be too small already. */
  const double times = is_share ? slower : asked->most <= self->set ? 1 : 1 / slower;
  return fmin(asked->none + (self->set - asked->none) * times, asked->most);
}

/* The rounds had the effect that is `off` at the mean of their amounts. An effect that is off by d with the standard
 * error e counts as off by d * d^2 / (d^2 + e^2). */
static double trimmed(const dial_pace *self, double off, double unsure) {
  const double none = self->asked.none, pairs = (double)self->pairs, paced = self->pace_sum / pairs - none;
  if (!isfinite(unsure) || fabs(off) > DIAL_PACE_TRIMMED || !(paced > 0)) return self->trim;
  const double both = off * off + unsure * unsure;
  return (self->sum / pairs - none) / paced / (1 + (both > 0 ? off * off * off / both : 0));
}

static double next_amount(const dial_pace *self, double amount, double pace) {
  const config_dial *asked = &self->asked;
  const double wanted = fmin(asked->none + (pace - asked->none) * self->trim, asked->most);
  return fabs(wanted - amount) < DIAL_PACE_SAME * fabs(amount) ? amount : wanted;
}

void dial_pace_round(dial_pace *self, double amount, const truth_block_pair *pairs, uint64_t count) {
  self->sum += amount * (double)count;
  self->pace_sum += self->pace * (double)count;
  self->pairs += count;
  dial_pace_see(self, pairs, count);
}

double dial_pace_next(dial_pace *self, double amount, double off, double unsure) {
  self->trim = trimmed(self, off, unsure);
  self->pace = at_pace(self, DIAL_PACE_LEAST);
  return next_amount(self, amount, self->pace);
}

double dial_pace_end(const dial_pace *self, double amount) {
  return next_amount(self, amount, at_pace(self, DIAL_PACE_KEPT));
}

double dial_pace_mean(const dial_pace *self) { return self->pairs ? self->sum / (double)self->pairs : self->set; }
