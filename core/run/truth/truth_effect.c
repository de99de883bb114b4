/* See truth_effect.h. */
#include "truth_effect.h"

#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

#define INTERVAL_ERRORS 3.92 /* standard errors in a 95 % interval */

bool truth_effect_of(const truth_rounds *of, truth_effect *out) {
  const uint64_t count = of->count;
  double *with = malloc(3 * count * sizeof *with);
  statistics with_spread, without_spread;
  if (!with) return false;
  double *without = with + count, *ratios = with + 2 * count;
  for (uint64_t i = 0; i < count; i++) {
    with[i] = of->at[i].with_ns;
    without[i] = of->at[i].without_ns;
    ratios[i] = log(with[i] / without[i]);
  }
  const bool ok = statistics_make(with, count, &with_spread) && statistics_make(without, count, &without_spread) &&
                  resample_paired(ratios, count, 1, &out->ratio);
  if (ok) {
    out->with_ns = with_spread.median;
    out->without_ns = without_spread.median;
    out->added_ns = out->without_ns * (out->ratio.ratio - 1);
    out->error_ns = out->without_ns * (out->ratio.high - out->ratio.low) / INTERVAL_ERRORS;
  }
  free(with);
  return ok;
}
