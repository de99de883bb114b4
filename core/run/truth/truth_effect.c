/* See truth_effect.h. */
#include "truth_effect.h"

#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_ERRORS 3.92 /* standard errors in a 95 % interval */

/* Rounds of one count, or of none. */
typedef struct group {
  double *ratios; /* logarithms */
  uint64_t count;
  double amount, mean;
} group;

static void add(group *to, double ratio, double amount) {
  to->ratios[to->count++] = ratio;
  to->amount += (amount - to->amount) / (double)to->count;
}

static void centre(group *of) {
  of->mean = of->count ? resample_trimmed_mean(of->ratios, of->count) : 0;
  for (uint64_t i = 0; i < of->count; i++) of->ratios[i] -= of->mean;
}

/* `ratios` and `scratch` have room for all. What is left of the rounds without the means of their groups tells how far
 * either mean is off. */
static bool ratio_of(const truth_rounds *of, double *ratios, double *scratch, resample_ratio *out) {
  group below = {.ratios = ratios}, above = {.ratios = scratch};
  for (uint64_t i = 0; i < of->count; i++) {
    const truth_block_pair *pair = &of->at[i];
    add(pair->amount > of->amount ? &above : &below, log(pair->with_ns / pair->without_ns), pair->amount);
  }
  centre(&below);
  centre(&above);
  memcpy(ratios + below.count, scratch, above.count * sizeof *ratios);
  double part = above.count ? 1 : 0;
  if (below.count && above.count) part = (of->amount - below.amount) / (above.amount - below.amount);
  const double ratio = (1 - part) * exp(below.mean) + part * exp(above.mean);
  if (!resample_paired(ratios, of->count, 1, out)) return false;
  out->ratio *= ratio;
  out->low *= ratio;
  out->high *= ratio;
  return true;
}

bool truth_effect_of(const truth_rounds *of, truth_effect *out) {
  const uint64_t count = of->count;
  double *with = malloc(4 * count * sizeof *with);
  statistics with_spread, without_spread;
  if (!with) return false;
  double *without = with + count, *ratios = with + 2 * count;
  for (uint64_t i = 0; i < count; i++) {
    with[i] = of->at[i].with_ns;
    without[i] = of->at[i].without_ns;
  }
  const bool ok = statistics_make(with, count, &with_spread) && statistics_make(without, count, &without_spread) &&
                  ratio_of(of, ratios, ratios + count, &out->ratio);
  if (ok) {
    out->with_ns = with_spread.median;
    out->without_ns = without_spread.median;
    out->added_ns = out->without_ns * (out->ratio.ratio - 1);
    out->error_ns = out->without_ns * (out->ratio.high - out->ratio.low) / INTERVAL_ERRORS;
  }
  free(with);
  return ok;
}
