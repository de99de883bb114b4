/* See processor_use.h. The process's own time comes from its CPU clock, which is finer than /proc/self/stat's ticks. */
#include "processor_use.h"

#include <pdhost/clocks.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IDLE_FIELD = 3, IOWAIT_FIELD = 4, LAST_FIELD = 7 /* steal; guest times after it are in user already */ };

pd_status proc_parse(const char *line, uint64_t *busy, uint64_t *idle) {
  const char *at = line;
  int fields = 0;
  *busy = *idle = 0;
  if (strncmp(at, "cpu ", 4) != 0) return PD_INVALID;
  at += 4;
  for (; fields <= LAST_FIELD; fields++) {
    char *end;
    unsigned long long ticks = strtoull(at, &end, 10);
    if (end == at) break;
    *(fields == IDLE_FIELD || fields == IOWAIT_FIELD ? idle : busy) += ticks;
    at = end;
  }
  return fields > IDLE_FIELD ? PD_OK : PD_INVALID;
}

pd_status proc_take(proc_sample *sample) {
  char line[512] = "";
  FILE *file = fopen("/proc/stat", "re");
  if (!file) return PD_IO;
  sample->elapsed_ns = pd_clock_ns(CLOCK_MONOTONIC);
  sample->process_ns = pd_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (!fgets(line, sizeof line, file)) line[0] = 0;
  fclose(file);
  return proc_parse(line, &sample->busy, &sample->idle) == PD_OK ? PD_OK : PD_IO;
}

proc_usage proc_between(const proc_sample *from, const proc_sample *to) {
  /* The kernel's idle count of a core may step back a little: never below zero here. */
  return (proc_usage){.elapsed_ns = to->elapsed_ns - from->elapsed_ns,
                      .process_ns = to->process_ns - from->process_ns,
                      .busy = to->busy > from->busy ? to->busy - from->busy : 0,
                      .idle = to->idle > from->idle ? to->idle - from->idle : 0};
}

void proc_skip(proc_sample *begin, const proc_sample *from, const proc_sample *to) {
  const proc_usage skipped = proc_between(from, to);
  begin->elapsed_ns += skipped.elapsed_ns;
  begin->process_ns += skipped.process_ns;
  begin->busy += skipped.busy;
  begin->idle += skipped.idle;
}
