/* For check_statistics.py: one sample per line of standard input, its figures as JSON on standard output. */
#include "base/statistics.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_VALUES = 4096, LINE_BYTES = 32 * MOST_VALUES };

int main(void) {
  static char line[LINE_BYTES];
  static double values[MOST_VALUES];
  while (fgets(line, sizeof line, stdin)) {
    uint64_t count = 0;
    statistics s;
    char *at = line, *end = line;
    for (double value = strtod(at, &end); end != at && count < MOST_VALUES; value = strtod(at, &end)) {
      values[count++] = value;
      at = end;
    }
    if (!statistics_make(values, count, &s)) return 1;
    printf("{\"count\": %llu, \"min\": %.17g, \"p25\": %.17g, \"median\": %.17g, \"p75\": %.17g, \"p90\": %.17g, "
           "\"p99\": %.17g, \"max\": %.17g, \"mean\": %.17g, \"iqr\": %.17g, \"mad\": %.17g, \"figures\": %d, "
           "\"trimmed\": %.17g, \"unit\": \"%s\"}\n",
           (unsigned long long)s.count, s.min, s.p25, s.median, s.p75, s.p90, s.p99, s.max, s.mean, s.iqr, s.mad,
           s.figures, statistics_trim(s.median, s.figures), statistics_unit(s.median).symbol);
  }
  return 0;
}
