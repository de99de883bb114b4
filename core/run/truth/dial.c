/* See dial.h. The effect of an amount grows with it, but rarely in proportion: the first read of a step waits for the
 * device, the next ones for nothing. So the search keeps the nearest amount that is too small and the nearest that is
 * too large, and tries the one that a line through both would have; an end that stays for long weighs less and less
 * (the "Illinois" rule), or a curve would be approached from one side alone. Once it is near, the effect is as good as
 * in proportion, and each exact trial moves the amount by what it is off. */
#include "dial.h"

#include <math.h>

#define DIAL_NEAR 0.25 /* from here on exact trials are worth their time */
#define DIAL_ROUGH_ERROR 0.08
#define DIAL_CLOSE 0.02 /* what differs by less is not looked into further */
#define DIAL_EXACT_ERROR 0.01
#define DIAL_STRIDE 8.0 /* at most, where all that was tried is too small */
#define DIAL_NO_EFFECT 0.01

typedef struct dial_end {
  double at, off; /* amount; its effect over what is wanted, less 1 */
} dial_end;

double dial_wanted_ns(double us, double share, double without_ns) {
  return us > 0 ? 1000 * us : without_ns * share / (1 - share);
}

static double larger(const config_dial *asked, const dial_end *low) {
  const double effect = 1 + low->off, from = low->at - asked->none;
  const double times = effect > DIAL_NO_EFFECT ? fmin(1 / effect, DIAL_STRIDE) : DIAL_STRIDE;
  return fmin(asked->none + from * times, asked->most);
}

static double off_by(const config_dial *asked, const dial_trial *trial) {
  return (trial->with_ns - trial->without_ns) / dial_wanted_ns(asked->us, asked->share, trial->without_ns) - 1;
}

/* The best of the rough trials. */
static pd_status search(const config_dial *asked, dial_measure measure, void *user, dial_end *best, bool *last) {
  dial_end low = {asked->none, -1}, high = {0};
  bool has_high = false;
  int same = 0; /* how often the same end moved; below 0: the low one */
  double at = fmin(asked->start, asked->most);
  *best = (dial_end){at, INFINITY};
  for (int i = 0; i < DIAL_TRIALS && !*last; i++) {
    dial_trial trial = {.amount = at, .close = DIAL_ROUGH_ERROR};
    const pd_status status = measure(user, &trial);
    if (status != PD_OK) return status;
    *last = trial.last;
    const double off = off_by(asked, &trial);
    if (fabs(off) < fabs(best->off)) *best = (dial_end){at, off};
    if (fabs(best->off) <= DIAL_NEAR) break;
    if (off < 0) {
      low = (dial_end){at, off};
      same = same < 0 ? same - 1 : -1;
      if (same < -1) high.off /= 2;
    } else {
      high = (dial_end){at, off};
      has_high = true;
      same = same > 0 ? same + 1 : 1;
      if (same > 1) low.off /= 2;
    }
    const double next = has_high ? low.at - low.off * (high.at - low.at) / (high.off - low.off) : larger(asked, &low);
    if (next == at) break; /* all that the key takes */
    at = next;
  }
  return PD_OK;
}

/* Where the effect would be as asked for, were it in proportion. */
static double moved(const config_dial *asked, const dial_end *from) {
  return fmin(asked->none + (from->at - asked->none) / (1 + from->off), asked->most);
}

pd_status dial_find(const config_dial *asked, dial_measure measure, void *user, double *amount) {
  dial_end at = {0};
  bool last = false;
  pd_status status = search(asked, measure, user, &at, &last);
  *amount = at.at;
  for (int i = 0; i < DIAL_REFINEMENTS && status == PD_OK && !last && fabs(at.off) <= DIAL_NEAR; i++) {
    dial_trial trial = {.amount = *amount, .close = DIAL_EXACT_ERROR};
    status = measure(user, &trial);
    if (status != PD_OK) break;
    last = trial.last;
    at = (dial_end){*amount, off_by(asked, &trial)};
    if (fabs(at.off) <= DIAL_NEAR) *amount = moved(asked, &at);
    if (fabs(at.off) <= DIAL_CLOSE) break;
  }
  return status;
}
