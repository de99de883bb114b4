/* See plots.h. */
#include "plots.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEVELS = 8 };

/* Below this share of the largest value a spread is drawn as a level line. */
#define LEVEL_SPREAD 0.01

bool plots_unicode(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (!value || !*value) continue;
    const char *charset = strchr(value, '.');
    return charset && (!strncasecmp(charset, ".UTF-8", 6) || !strncasecmp(charset, ".utf8", 5));
  }
  return false;
}

void plots_bar(text *out, double share, size_t columns, bool unicode) {
  static const char *const parts[LEVELS] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
  const double length = (share > 1 ? 1 : share < 0 ? 0 : share) * (double)columns;
  size_t whole = (size_t)length;
  if (!unicode) {
    whole = (size_t)(length + 0.5);
    text_repeat(out, '#', whole || length <= 0 ? whole : 1);
    return;
  }
  for (size_t i = 0; i < whole; i++) text_add(out, "\u2588");
  const size_t rest = (size_t)((length - (double)whole) * LEVELS);
  text_add(out, parts[rest || whole || length <= 0 ? rest : 1]);
}

void plots_strip(text *out, const double *values, uint64_t count, size_t columns, bool unicode) {
  static const char *const blocks[LEVELS] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                             "\u2585", "\u2586", "\u2587", "\u2588"};
  static const char *const plain[LEVELS] = {"_", ".", "-", "=", "+", "*", "#", "@"};
  const uint64_t bins = count < columns ? count : columns;
  double *means = malloc((bins + 1) * sizeof *means), least = 0, most = 0;
  if (!means) {
    out->failed = true;
    return;
  }
  for (uint64_t b = 0; b < bins; b++) {
    const uint64_t first = b * count / bins, end = (b + 1) * count / bins;
    double sum = 0;
    for (uint64_t i = first; i < end; i++) sum += values[i];
    means[b] = sum / (double)(end - first);
    if (!b || means[b] < least) least = means[b];
    if (!b || means[b] > most) most = means[b];
  }
  for (uint64_t b = 0; b < bins; b++) {
    const bool level = most - least <= LEVEL_SPREAD * most;
    const uint32_t at = level ? LEVELS / 2 : (uint32_t)((means[b] - least) / (most - least) * (LEVELS - 1) + 0.5);
    text_add(out, (unicode ? blocks : plain)[at]);
  }
  free(means);
}
