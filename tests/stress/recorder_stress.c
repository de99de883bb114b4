/* 16 writers against windows that begin and end: run under ThreadSanitizer. */
#include "recorder_writers.h"

#include <stdio.h>

int main(void) {
  recorder_writers_result result;
  int failed = recorder_writers_run(16, 12, &result);
  (void)printf("windows %llu, ranges %llu, calls %llu, device records %llu, memory events %llu%s%s\n",
               (unsigned long long)result.windows, (unsigned long long)result.ranges, (unsigned long long)result.calls,
               (unsigned long long)result.activities, (unsigned long long)result.memory, failed ? ": " : "",
               failed ? result.message : "");
  return failed;
}
