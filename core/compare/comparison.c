/* See comparison.h. */
#include "comparison.h"

#include <math.h>
#include <stdio.h>

outcome comparison_of(const resample_ratio *of, double margin) {
  const double most = 1 + margin, least = 1 / most;
  if (of->low >= least && of->high <= most) return OUTCOME_SAME;
  if (of->p >= COMPARISON_P) return OUTCOME_UNCLEAR;
  if (of->low > 1 && of->ratio > most) return OUTCOME_SLOWER;
  if (of->high < 1 && of->ratio < least) return OUTCOME_FASTER;
  return OUTCOME_UNCLEAR;
}

outcome comparison_outcome(const resample_ratio *of, uint64_t count, double margin) {
  return count < COMPARISON_LEAST ? OUTCOME_UNCLEAR : comparison_of(of, margin);
}

outcome comparison_paired(const paired_ratio *of, double margin) {
  resample_ratio moved = of->of;
  if (of->spread >= COMPARISON_WIDE_SPREAD) {
    const double bias = exp(COMPARISON_BIAS_SPREADS * of->spread);
    moved.low /= bias;
    moved.high *= bias;
  }
  return of->restarts < COMPARISON_RESTARTS_LEAST ? OUTCOME_UNCLEAR : comparison_of(&moved, margin);
}

const char *comparison_word(outcome of) {
  static const char *const words[] = {"UNCLEAR", "SAME", "FASTER", "SLOWER"};
  return words[of];
}

const char *comparison_color(outcome of) {
  static const char *const colors[] = {"\033[33m", "\033[36m", "\033[92m", "\033[31m"};
  return colors[of];
}

void comparison_sentence(const resample_ratio *of, const char *a, const char *b, char *text, unsigned long room) {
  snprintf(text, room, "%s takes %.4f times as long as %s (95 %%: %.4f to %.4f, p = %.4f)", b, of->ratio, a, of->low,
           of->high, of->p);
}
