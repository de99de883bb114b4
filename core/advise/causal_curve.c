/* See causal_curve.h. */
#include "causal_curve.h"

#include "base/resample.h"
#include "base/statistics.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ON_PATH 0.75
#define OFF_PATH 0.25
/* The same rounds give the same interval every time. */
#define SEED 1

bool causal_curve_add(causal_curve *self, const causal_block *round) {
  const uint64_t used = self->rounds * self->levels;
  if (!PD_ARRAY_FIT(self->blocks, self->room, used + self->levels)) return false;
  memcpy(self->blocks + used, round, self->levels * sizeof *round);
  self->rounds++;
  return true;
}

void causal_curve_free(causal_curve *self) {
  free(self->blocks);
  *self = (causal_curve){.blocks = NULL};
}

static double slope_of_round(const causal_block *at, uint32_t levels) {
  double put = 0, step = 0, both = 0, square = 0;
  for (uint32_t i = 0; i < levels; i++) {
    put += at[i].put_ns / levels;
    step += at[i].step_ns / levels;
  }
  for (uint32_t i = 0; i < levels; i++) {
    both += (at[i].put_ns - put) * (at[i].step_ns - step);
    square += (at[i].put_ns - put) * (at[i].put_ns - put);
  }
  return square > 0 ? both / square : 0;
}

/* `values` are figures near 1, one a round: taken for the logarithms that resample_paired wants. */
static bool figure_of(const double *values, uint64_t count, causal_figure *out) {
  resample_ratio got;
  if (!resample_paired(values, count, SEED, &got)) return false;
  *out = (causal_figure){log(got.ratio), log(got.low), log(got.high)};
  return true;
}

bool causal_curve_slope(const causal_curve *self, causal_figure *out) {
  double *slopes = malloc((self->rounds + 1) * sizeof *slopes);
  if (!slopes) return false;
  for (uint64_t i = 0; i < self->rounds; i++) slopes[i] = slope_of_round(self->blocks + i * self->levels, self->levels);
  const bool ok = figure_of(slopes, self->rounds, out);
  free(slopes);
  return ok;
}

bool causal_curve_change(const causal_curve *self, uint32_t level, causal_figure *out) {
  double *changes = malloc((self->rounds + 1) * sizeof *changes);
  if (!changes) return false;
  for (uint64_t i = 0; i < self->rounds; i++) {
    const causal_block *at = self->blocks + i * self->levels;
    changes[i] = at[level].step_ns / at[0].step_ns - 1;
  }
  const bool ok = figure_of(changes, self->rounds, out);
  free(changes);
  return ok;
}

bool causal_curve_median(const causal_curve *self, uint32_t level, double *put_ns, double *step_ns) {
  double *values = malloc((2 * self->rounds + 1) * sizeof *values);
  statistics put = {0}, step = {0};
  if (!values) return false;
  for (uint64_t i = 0; i < self->rounds; i++) {
    values[i] = self->blocks[i * self->levels + level].put_ns;
    values[self->rounds + i] = self->blocks[i * self->levels + level].step_ns;
  }
  const bool ok =
      statistics_make(values, self->rounds, &put) && statistics_make(values + self->rounds, self->rounds, &step);
  *put_ns = put.median;
  *step_ns = step.median;
  free(values);
  return ok;
}

causal_path causal_path_of(const causal_figure *slope) {
  if (slope->low > ON_PATH) return CAUSAL_ON;
  if (slope->high < OFF_PATH) return CAUSAL_OFF;
  if (slope->low > 0 && slope->high - slope->low <= 2 * CAUSAL_WIDTH) return CAUSAL_PARTLY;
  return CAUSAL_UNCLEAR;
}

const char *causal_path_text(causal_path path) {
  static const char *const texts[] = {"off the path", "partly", "on the path", "not sure"};
  return texts[path];
}
