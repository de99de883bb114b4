/* Threads that record as fast as they can while windows begin and end; checks every trace. */
#ifndef TESTS_STRESS_RECORDER_WRITERS_H
#define TESTS_STRESS_RECORDER_WRITERS_H

#include <stdint.h>

typedef struct recorder_writers_result {
  uint64_t windows, ranges, calls, activities, memory;
  char message[256]; /* the first thing wrong, where run returns non-zero */
} recorder_writers_result;

int recorder_writers_run(int writer_count, int windows, recorder_writers_result *result);

#endif
