/* See sample_ratio.h. */
#include "sample_ratio.h"

#define SEED 1

bool sample_takes_time(const sample *self) { return self->figures.min > 0; }

bool sample_ratio_of(const sample *a, const sample *b, double margin, sample_ratio *out) {
  const uint64_t a_count = a->figures.count, b_count = b->figures.count;
  *out = (sample_ratio){.timeless = !sample_takes_time(a) || !sample_takes_time(b)};
  if (out->timeless) return true;
  if (!resample_unpaired(a->times, a_count, b->times, b_count, SEED, &out->of)) return false;
  out->count = a_count < b_count ? a_count : b_count;
  out->found = comparison_outcome(&out->of, out->count, margin);
  return true;
}
