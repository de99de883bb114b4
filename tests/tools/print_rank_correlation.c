/* For check_rank_correlation.py: pairs of numbers in a line of standard input, x y x y, their rank correlation as JSON
 * on standard output; null where there is none. */
#include "base/rank_correlation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_PAIRS = 512, LINE_BYTES = 64 * MOST_PAIRS };

int main(void) {
  static char line[LINE_BYTES];
  static double values[2][MOST_PAIRS];
  while (fgets(line, sizeof line, stdin)) {
    uint64_t count = 0;
    rank_correlation found;
    char *at = line, *end = line;
    for (double value = strtod(at, &end); end != at && count < 2 * MOST_PAIRS; value = strtod(at, &end)) {
      values[count % 2][count / 2] = value;
      count++;
      at = end;
    }
    if (!rank_correlation_make(values[0], values[1], count / 2, &found)) return 1;
    if (isnan(found.rho))
      puts("null");
    else
      printf("{\"rho\": %.17g, \"p\": %.17g}\n", found.rho, found.p);
  }
  return 0;
}
