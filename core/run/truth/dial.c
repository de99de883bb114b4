/* See dial.h. The effect of an amount grows with it, but rarely in proportion: the first read of a step waits for the
 * device, the next ones for nothing. So the search keeps the nearest amount that is too small and the nearest that is
 * too large, and tries the one that a line through both would have; an end that stays for long weighs less and less
 * (the "Illinois" rule), or a curve would be approached from one side alone. */
#include "dial.h"

#include <math.h>

#define DIAL_CLOSE 0.02 /* what differs by less is not looked into further */
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

pd_status dial_find(const config_dial *asked, dial_measure measure, void *user, double *amount) {
  dial_end low = {asked->none, -1}, high = {0};
  bool has_high = false;
  int same = 0; /* how often the same end moved; below 0: the low one */
  double at = fmin(asked->start, asked->most), best = INFINITY;
  *amount = at;
  for (int i = 0; i < DIAL_TRIALS; i++) {
    double with_ns = 0, without_ns = 0;
    const pd_status status = measure(user, at, &with_ns, &without_ns);
    if (status != PD_OK) return status;
    const double off = (with_ns - without_ns) / dial_wanted_ns(asked->us, asked->share, without_ns) - 1;
    if (fabs(off) < best) {
      best = fabs(off);
      *amount = at;
    }
    if (best <= DIAL_CLOSE) break;
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
